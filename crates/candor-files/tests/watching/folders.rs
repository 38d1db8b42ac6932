//! A folder that is watched: what comes and goes in it, and what its files hold.

use std::fs;
use std::time::{Duration, SystemTime};

use crate::common::Scratch;
use crate::ear::Ear;
use crate::{ERAS, engine};

const FOLDER: &str = "docs:///folder";

#[tokio::test]
async fn changes_directly_inside_a_folder_are_reported() {
    for era in ERAS {
        let scratch = Scratch::new();
        scratch.file("folder/child", "one");
        let engine = engine(&scratch);
        let (mut ear, agreed) = Ear::listening(&engine, era, &[FOLDER]).await;
        assert_eq!(agreed, [FOLDER]);
        let in_folder = |name: &str| scratch.inside("folder").join(name);
        let steps: [(&str, &dyn Fn()); 6] = [
            ("a file comes", &|| fs::write(in_folder("new"), "").unwrap()),
            ("a folder comes", &|| fs::create_dir(in_folder("sub")).unwrap()),
            ("one is renamed", &|| fs::rename(in_folder("new"), in_folder("newer")).unwrap()),
            ("one goes", &|| fs::remove_file(in_folder("newer")).unwrap()),
            ("a child is written", &|| fs::write(in_folder("child"), "two").unwrap()),
            ("one leaves", &|| fs::rename(in_folder("child"), scratch.inside("left")).unwrap()),
        ];
        for (what, step) in steps {
            step();
            ear.hears(FOLDER).await;
            let rest = ear.in_silence().await;
            assert!(rest.iter().all(|uri| uri == FOLDER), "{what}: {rest:?}");
        }
        // Only direct children count.
        scratch.file("folder/sub/deep", "one");
        ear.in_silence().await;
        scratch.file("folder/sub/deep", "two");
        assert_eq!(ear.in_silence().await, Vec::<String>::new());
    }
}

/// A write to a child does not change the folder itself: only the system can report it.
async fn hears_of_the_child(ear: &mut Ear, scratch: &Scratch, uris: &[&str]) {
    ear.in_silence().await;
    scratch.file("folder/child", "written");
    let mut heard = vec![ear.next_uri().await];
    heard.extend(ear.in_silence().await);
    for uri in uris {
        assert!(heard.iter().any(|heard| heard == uri), "{uri} is not among {heard:?}");
    }
}

#[tokio::test]
async fn recreated_folder_is_watched_again() {
    for era in ERAS {
        let scratch = Scratch::new();
        scratch.file("folder/child", "one");
        let engine = engine(&scratch);
        let (mut ear, _) = Ear::listening(&engine, era, &[FOLDER]).await;
        let anew = || {
            fs::remove_dir_all(scratch.inside("folder")).unwrap();
            scratch.file("folder/child", "one");
        };
        anew();
        ear.hears(FOLDER).await;
        hears_of_the_child(&mut ear, &scratch, &[FOLDER]).await;
        // With a pause in between.
        fs::remove_dir_all(scratch.inside("folder")).unwrap();
        ear.hears(FOLDER).await;
        ear.in_silence().await;
        scratch.file("folder/child", "one");
        ear.hears(FOLDER).await;
        hears_of_the_child(&mut ear, &scratch, &[FOLDER]).await;
    }
}

#[tokio::test]
async fn folder_moved_away_and_back_is_watched_again() {
    for era in ERAS {
        let scratch = Scratch::new();
        scratch.file("folder/child", "one");
        let engine = engine(&scratch);
        let (mut ear, _) = Ear::listening(&engine, era, &[FOLDER]).await;
        fs::rename(scratch.inside("folder"), scratch.inside("moved")).unwrap();
        fs::rename(scratch.inside("moved"), scratch.inside("folder")).unwrap();
        ear.hears(FOLDER).await;
        hears_of_the_child(&mut ear, &scratch, &[FOLDER]).await;
    }
}

#[tokio::test]
async fn swapped_folders_are_both_watched_again() {
    for era in ERAS {
        let scratch = Scratch::new();
        scratch.file("folder/child", "one");
        scratch.file("other/child", "one");
        let engine = engine(&scratch);
        let (mut ear, _) = Ear::listening(&engine, era, &[FOLDER, "docs:///other"]).await;
        fs::rename(scratch.inside("folder"), scratch.inside("parked")).unwrap();
        fs::rename(scratch.inside("other"), scratch.inside("folder")).unwrap();
        fs::rename(scratch.inside("parked"), scratch.inside("other")).unwrap();
        ear.hears("docs:///other").await;
        hears_of_the_child(&mut ear, &scratch, &[FOLDER]).await;
        scratch.file("other/child", "written");
        ear.hears("docs:///other").await;
    }
}

#[tokio::test]
async fn folders_swapped_by_their_parents_are_both_watched_again() {
    const BETWEEN: usize = 600;
    let scratch = Scratch::new();
    scratch.file("far/one/folder/child", "one");
    scratch.file("far/two/folder/child", "one");
    // Folders that a check can tell apart.
    let an_hour_ago = SystemTime::now() - Duration::from_secs(3600);
    fs::File::open(scratch.inside("far/two/folder")).unwrap().set_modified(an_hour_ago).unwrap();
    let between = (0..BETWEEN).map(|i| format!("docs:///nothing/{i}"));
    for i in 0..BETWEEN {
        scratch.file(&format!("nothing/{i}"), "");
    }
    let engine = engine(&scratch);
    let [one, two] = ["docs:///far/one/folder", "docs:///far/two/folder"];
    let uris: Vec<String> =
        [one.to_owned()].into_iter().chain(between).chain([two.to_owned()]).collect();
    let uris: Vec<&str> = uris.iter().map(String::as_str).collect();
    let (mut ear, agreed) = Ear::listening(&engine, ERAS[1], &uris).await;
    assert_eq!(agreed, uris);
    // Only the name of a folder above changes, in one without a watch: only checks find it, one long before the other.
    fs::rename(scratch.inside("far/one"), scratch.inside("far/three")).unwrap();
    fs::rename(scratch.inside("far/two"), scratch.inside("far/one")).unwrap();
    fs::rename(scratch.inside("far/three"), scratch.inside("far/two")).unwrap();
    ear.hears(two).await;
    ear.in_silence().await;
    for (uri, child) in [(one, "far/one/folder/child"), (two, "far/two/folder/child")] {
        // A write to a child does not change the folder itself: only the system can report it.
        scratch.file(child, "written");
        ear.hears(uri).await;
        ear.in_silence().await;
    }
}

#[tokio::test]
async fn folder_and_its_link_report_the_same_changes() {
    for era in ERAS {
        let scratch = Scratch::new();
        scratch.file("folder/child", "one");
        scratch.link("link", "folder");
        let engine = engine(&scratch);
        let both = [FOLDER, "docs:///link"];
        let (mut ear, agreed) = Ear::listening(&engine, era, &both).await;
        assert_eq!(agreed, both);
        hears_of_the_child(&mut ear, &scratch, &both).await;
        // Another client comes and leaves, and the watches stay.
        let (mut other, _) = Ear::listening(&engine, era, &["docs:///link"]).await;
        other.unwatch(&["docs:///link"]).await;
        other.hang_up().await;
        hears_of_the_child(&mut ear, &scratch, &both).await;
        // The link gets a new target: from now on, it reports changes there.
        scratch.file("elsewhere/child", "one");
        ear.in_silence().await;
        fs::remove_file(scratch.inside("link")).unwrap();
        scratch.link("link", "elsewhere");
        ear.hears("docs:///link").await;
        ear.in_silence().await;
        scratch.file("elsewhere/child", "two");
        ear.hears("docs:///link").await;
    }
}

#[tokio::test]
async fn file_that_becomes_a_folder_is_watched_as_a_folder() {
    for era in ERAS {
        let scratch = Scratch::new();
        scratch.file("folder", "still a file");
        let engine = engine(&scratch);
        let (mut ear, _) = Ear::listening(&engine, era, &[FOLDER]).await;
        fs::remove_file(scratch.inside("folder")).unwrap();
        scratch.file("folder/child", "one");
        ear.hears(FOLDER).await;
        hears_of_the_child(&mut ear, &scratch, &[FOLDER]).await;
        // And back.
        fs::remove_dir_all(scratch.inside("folder")).unwrap();
        scratch.file("folder", "a file again");
        ear.hears(FOLDER).await;
        ear.in_silence().await;
        fs::write(scratch.inside("folder"), "written").unwrap();
        ear.hears(FOLDER).await;
    }
}
