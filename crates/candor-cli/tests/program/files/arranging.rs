//! `make_folder` and `move_files`: where things are.

use std::fs;

use serde_json::json;

use super::{ERAS, Served, arrange};

#[tokio::test]
async fn make_folder_creates_parents_and_is_idempotent() {
    for era in ERAS {
        let served = Served::prepared(&format!("made {era:?}"));
        let mut host = served.to(era, &[]).await;
        let path = json!({"path": "sub/new/er"});
        assert_eq!(host.done("make_folder", &path).await, "Created the folder sub/new/er");
        assert!(served.at("sub/new/er").is_dir());
        let made = served.tree();
        let again = host.done("make_folder", &path).await;
        assert_eq!(again, "The folder sub/new/er already existed");
        for there in ["", ".", "sub", "sub/new/"] {
            let told = host.done("make_folder", &json!({"path": there})).await;
            assert!(told.ends_with("already existed"), "{there}: {told}");
        }
        for (path, code) in [
            ("hello.txt", "not_a_folder"),
            ("hello.txt/new", "not_a_folder"),
            (".secret/new", "not_found"),
            ("sub/../../new", "bad_path"),
        ] {
            host.refused("make_folder", &json!({"path": path}), code).await;
        }
        assert_eq!(served.tree(), made);
    }
}

#[tokio::test]
async fn move_and_copy_actions_work_in_both_eras() {
    for era in ERAS {
        let served = Served::prepared(&format!("four {era:?}"));
        served.write("other.txt", "Other");
        let mut host = served.to(era, &[]).await;
        let mut done = async |action: &str, from: &str, to: &str, told: &str| {
            assert_eq!(host.done("move_files", &arrange(action, from, to)).await, told);
        };
        done("copy", "hello.txt", "sub/copy.txt", "Copied hello.txt to sub/copy.txt").await;
        assert_eq!(served.text("sub/copy.txt"), served.text("hello.txt"));

        let told = "Copied other.txt to sub/copy.txt, which was replaced";
        done("copy_over", "other.txt", "sub/copy.txt", told).await;
        done("copy_over", "other.txt", "new.txt", "Copied other.txt to new.txt").await;
        assert_eq!(
            (served.text("sub/copy.txt"), served.text("new.txt")),
            ("Other".into(), "Other".into())
        );
        assert!(served.has("other.txt"));

        done("move", "other.txt", "sub/moved.txt", "Moved other.txt to sub/moved.txt").await;
        assert!(!served.has("other.txt"));
        let told = "Moved sub/moved.txt to hello.txt, which was replaced";
        done("move_over", "sub/moved.txt", "hello.txt", told).await;
        assert_eq!(served.text("hello.txt"), "Other");
        assert!(!served.has("sub/moved.txt"));
        done("move_over", "hello.txt", "fresh.txt", "Moved hello.txt to fresh.txt").await;

        done("move", "sub", "renamed", "Moved sub to renamed").await;
        assert_eq!(served.text("renamed/deeper/100% größer? #1.txt"), "deep");
        assert!(!served.has("sub"));
    }
}

#[tokio::test]
async fn refused_moves_and_copies_change_nothing() {
    let served = Served::prepared("stays");
    served.write("other.txt", "Other");
    fs::create_dir(served.at("empty")).unwrap();
    let before = served.tree();
    let mut host = served.serve().await;
    for (action, from, to, code) in [
        ("copy", "other.txt", "hello.txt", "exists"),
        ("move", "other.txt", "hello.txt", "exists"),
        ("move", "sub", "empty", "exists"),
        ("copy", "other.txt", "other.txt", "exists"),
        ("move", "other.txt", "other.txt", "exists"),
        ("move_over", "other.txt", "empty", "exists"),
        ("copy_over", "other.txt", "empty", "not_a_file"),
        ("move_over", "sub", "hello.txt", "not_a_folder"),
        ("copy", "sub", "copied", "not_a_file"),
        ("move", "sub", "sub/deeper/sub", "into_itself"),
        ("move_over", "sub", "sub/inside", "into_itself"),
        ("move", "nowhere", "new.txt", "not_found"),
        ("copy", "nowhere", "new.txt", "not_found"),
        ("move", "other.txt", "no/such/folder", "no_folder"),
        ("copy", "other.txt", "no/such/folder", "no_folder"),
        ("move", "", "elsewhere", "is_root"),
        ("move", "sub", ".", "is_root"),
        ("move_over", "other.txt", "", "is_root"),
        ("copy_over", "other.txt", "", "is_root"),
        ("copy", "", "copied", "not_a_file"),
        ("move", ".hidden", "seen.txt", "not_found"),
        ("copy", ".hidden", "seen.txt", "not_found"),
        ("move", "other.txt", ".hidden", "not_found"),
        ("copy_over", "other.txt", ".hidden", "not_found"),
    ] {
        let told = host.refused("move_files", &arrange(action, from, to), code).await;
        assert!(told.starts_with(|c: char| c == '`' || c.is_uppercase()), "{told}");
    }
    assert_eq!(served.tree(), before);
}

#[cfg(unix)]
#[tokio::test]
async fn copy_keeps_the_permissions_of_its_source() {
    use std::os::unix::fs::PermissionsExt;
    let served = Served::prepared("copied permissions");
    fs::set_permissions(served.at("hello.txt"), fs::Permissions::from_mode(0o750)).unwrap();
    let mut host = served.serve().await;
    host.done("move_files", &arrange("copy", "hello.txt", "copy.txt")).await;
    let mode = fs::metadata(served.at("copy.txt")).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o750);
}
