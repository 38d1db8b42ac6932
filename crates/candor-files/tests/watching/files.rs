//! A file that is watched: it is the name that counts, whatever has it.

use std::fs;
use std::time::Duration;

use candor_server::Server;

use crate::common::Scratch;
use crate::ear::Ear;
use crate::{ERAS, directory, engine};

const FILE: &str = "docs:///folder/file";

#[tokio::test]
async fn every_change_of_a_watched_file_is_reported() {
    for era in ERAS {
        let scratch = Scratch::new();
        scratch.file("folder/file", "one");
        let engine = engine(&scratch);
        let (mut ear, agreed) = Ear::listening(&engine, era, &[FILE]).await;
        assert_eq!(agreed, [FILE]);
        let path = scratch.inside("folder/file");
        let steps: [(&str, &dyn Fn()); 6] = [
            ("written", &|| fs::write(&path, "two").unwrap()),
            ("replaced", &|| {
                scratch.file("folder/draft", "three");
                fs::rename(scratch.inside("folder/draft"), &path).unwrap();
            }),
            ("written after it was replaced", &|| fs::write(&path, "four").unwrap()),
            ("deleted", &|| fs::remove_file(&path).unwrap()),
            ("made again", &|| fs::write(&path, "five").unwrap()),
            ("written once more", &|| fs::write(&path, "six").unwrap()),
        ];
        for (what, step) in steps {
            step();
            ear.hears(FILE).await;
            let rest = ear.in_silence().await;
            assert!(rest.iter().all(|uri| uri == FILE), "{what}: {rest:?}");
        }
        // Changes of other files in the folder are not reported.
        scratch.file("folder/other", "text");
        assert_eq!(ear.in_silence().await, Vec::<String>::new());
    }
}

#[tokio::test]
async fn file_with_a_non_utf8_name_is_watched() {
    use std::os::unix::ffi::OsStrExt;
    for era in ERAS {
        let scratch = Scratch::new();
        let path = scratch.inside(std::ffi::OsStr::from_bytes(b"odd \xff%"));
        fs::write(&path, "one").unwrap();
        let engine = engine(&scratch);
        let (mut ear, _) = Ear::listening(&engine, era, &["docs:///odd%20%FF%25"]).await;
        fs::write(&path, "two").unwrap();
        ear.hears("docs:///odd%20%FF%25").await;
    }
}

#[tokio::test]
async fn moved_parent_folder_is_reported_and_watched_again() {
    for era in ERAS {
        let scratch = Scratch::new();
        scratch.file("above/folder/file", "one");
        let engine = engine(&scratch);
        let uri = "docs:///above/folder/file";
        let (mut ear, _) = Ear::listening(&engine, era, &[uri]).await;
        let (there, away) = (scratch.inside("above"), scratch.base().join("away"));
        fs::rename(&there, &away).unwrap();
        ear.hears(uri).await;
        ear.in_silence().await;
        fs::rename(&away, &there).unwrap();
        ear.hears(uri).await;
        ear.in_silence().await;
        // The watch still works.
        fs::write(there.join("folder/file"), "two").unwrap();
        ear.hears(uri).await;
    }
}

#[tokio::test]
async fn link_reports_changes_of_its_target() {
    for era in ERAS {
        let scratch = Scratch::new();
        scratch.file("far/away/target", "one");
        scratch.file("busy", "");
        scratch.link("link", "far/away/target");
        let engine = engine(&scratch);
        // No other file is watched: the check must not depend on other events.
        let (mut ear, _) = Ear::listening(&engine, era, &["docs:///link"]).await;
        fs::write(scratch.inside("far/away/target"), "changed").unwrap();
        ear.hears("docs:///link").await;
        ear.in_silence().await;
        fs::remove_file(scratch.inside("far/away/target")).unwrap();
        ear.hears("docs:///link").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn busy_file_does_not_delay_reports_of_others() {
    let scratch = Scratch::new();
    scratch.file("far/target", "one");
    scratch.file("busy", "");
    scratch.link("link", "far/target");
    let engine = engine(&scratch);
    let uris = ["docs:///link", "docs:///busy"];
    let (mut ear, _) = Ear::listening(&engine, ERAS[1], &uris).await;
    let busy = scratch.inside("busy");
    let writing = tokio::spawn(async move {
        loop {
            fs::write(&busy, "again").unwrap();
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    ear.hears("docs:///busy").await;
    fs::write(scratch.inside("far/target"), "changed").unwrap();
    let heard = tokio::time::timeout(Duration::from_secs(20), ear.hears("docs:///link")).await;
    writing.abort();
    assert!(heard.is_ok(), "the change of the target was not reported");
}

#[tokio::test]
async fn every_watch_of_a_large_set_reports_changes() {
    const MANY: usize = 600;
    let scratch = Scratch::new();
    // The system does not report changes of link targets elsewhere.
    for i in 0..MANY {
        scratch.file(&format!("far/{i}"), "one");
        scratch.link(&format!("link{i}"), format!("far/{i}"));
    }
    let engine = engine(&scratch);
    let uris: Vec<String> = (0..MANY).map(|i| format!("docs:///link{i}")).collect();
    let uris: Vec<&str> = uris.iter().map(String::as_str).collect();
    let (mut ear, agreed) = Ear::listening(&engine, ERAS[1], &uris).await;
    assert_eq!(agreed.len(), MANY);
    for i in [MANY - 1, 0, MANY / 2] {
        fs::write(scratch.inside(format!("far/{i}")), "changed").unwrap();
        ear.hears(uris[i]).await;
    }
}

#[tokio::test]
async fn every_client_that_watches_gets_every_change() {
    for era in ERAS {
        let scratch = Scratch::new();
        scratch.file("folder/file", "one");
        let engine = engine(&scratch);
        let (mut one, _) = Ear::listening(&engine, era, &[FILE]).await;
        // Also by another spelling of the URI, and in the other era.
        let same = "docs:///folder/%66ile";
        let (mut two, _) = Ear::listening(&engine, ERAS[1], &[FILE, same]).await;
        for text in ["two", "three"] {
            fs::write(scratch.inside("folder/file"), text).unwrap();
            one.hears(FILE).await;
            let mut heard = vec![two.next_uri().await];
            heard.extend(two.in_silence().await);
            heard.sort();
            heard.dedup();
            assert_eq!(heard, [same, FILE]);
            one.in_silence().await;
        }
        one.unwatch(&[FILE]).await;
        fs::write(scratch.inside("folder/file"), "four").unwrap();
        two.hears(FILE).await;
        assert_eq!(one.in_silence().await, Vec::<String>::new());
    }
}

#[tokio::test]
async fn two_servers_of_one_folder_report_to_their_own_clients() {
    let scratch = Scratch::new();
    scratch.file("folder/file", "one");
    let directory = directory(&scratch);
    let engines = [directory.clone(), directory]
        .map(|directory| Server::new("files", "1.0.0").resources(directory).build().unwrap());
    let (mut one, _) = Ear::listening(&engines[0], ERAS[0], &[FILE]).await;
    let (mut two, _) = Ear::listening(&engines[1], ERAS[1], &[FILE]).await;
    fs::write(scratch.inside("folder/file"), "two").unwrap();
    one.hears(FILE).await;
    two.hears(FILE).await;
    scratch.file("new", "");
    one.hears_of_the_list().await;
    two.hears_of_the_list().await;
}
