//! The default list changes when the root gains or loses something.

use std::fs;
use std::time::Duration;

use crate::common::Scratch;
use crate::ear::Ear;
use crate::{ERAS, engine};

/// Longer than what is watched is left without a look.
const A_ROUND: Duration = Duration::from_millis(2600);

#[tokio::test]
async fn names_in_the_root_change_the_list() {
    for era in ERAS {
        let scratch = Scratch::new();
        scratch.file("file", "one");
        scratch.file("folder/file", "one");
        let engine = engine(&scratch);
        let (mut ear, _) = Ear::listening(&engine, era, &[]).await;
        let at = |name: &str| scratch.inside(name);
        let steps: [&dyn Fn(); 5] = [
            &|| fs::write(at("new"), "").unwrap(),
            &|| fs::create_dir(at("sub")).unwrap(),
            &|| fs::rename(at("new"), at("newer")).unwrap(),
            &|| fs::remove_file(at("newer")).unwrap(),
            &|| fs::remove_dir(at("sub")).unwrap(),
        ];
        for step in steps {
            step();
            ear.hears_of_the_list().await;
            ear.in_silence().await;
        }
    }
}

#[tokio::test]
async fn content_changes_do_not_change_the_list() {
    for era in ERAS {
        let scratch = Scratch::new();
        scratch.file("file", "one");
        scratch.file("folder/file", "one");
        let engine = engine(&scratch);
        // With a watched resource, so that checks run, and without.
        for watched in [&[][..], &["docs:///file"]] {
            let (mut ear, _) = Ear::listening(&engine, era, watched).await;
            scratch.file("file", "written");
            scratch.file("folder/file", "written");
            scratch.file("folder/deep", "new");
            assert_eq!(ear.of_the_list_for(A_ROUND).await, 0);
            fs::remove_file(scratch.inside("folder/deep")).unwrap();
        }
    }
}
