//! Who watches a file or a folder is told when it changes.

use std::fs;
use std::time::Duration;

use serde_json::{Value, json};

use super::{Era, Host, Served, each, manage_with};

const UPDATED: &str = "notifications/resources/updated";

/// After so long nothing more comes: news wait for others to join them much shorter.
const QUIET: Duration = Duration::from_millis(300);

impl Host {
    /// Watches resources, each in the way of this era.
    async fn watch(&mut self, uris: &[&str]) {
        if self.era == Era::Legacy {
            for uri in uris {
                self.result("resources/subscribe", &json!({"uri": uri})).await;
            }
            return;
        }
        let filter = json!({"notifications": {"resourceSubscriptions": uris}});
        self.send("subscriptions/listen", &filter).await;
        let told = self.program.next().await;
        assert_eq!(told["method"], "notifications/subscriptions/acknowledged", "{told}");
        assert_eq!(told["params"]["notifications"]["resourceSubscriptions"], json!(uris));
    }

    /// The next resource that is said to have changed.
    async fn changed(&mut self) -> String {
        loop {
            let message = self.program.next().await;
            if message["method"] == UPDATED {
                return message["params"]["uri"].as_str().unwrap().to_owned();
            }
        }
    }

    /// What else is said to have changed, until nothing is said any more.
    async fn else_changed(&mut self) -> Vec<String> {
        let mut changed = Vec::new();
        while let Ok(uri) = tokio::time::timeout(QUIET, self.changed()).await {
            changed.push(uri);
        }
        changed
    }
}

#[tokio::test]
async fn watched_file_reports_every_kind_of_change() {
    for era in [Era::Legacy, Era::Modern] {
        let served = Served::prepared(&format!("watched file {era:?}"));
        let mut host = served.to(era, &[]).await;
        let uri = format!("{}/sub/inner.md", host.root().await);
        host.watch(&[&uri]).await;
        let path = served.at("sub/inner.md");
        let beside = served.at("sub/beside.md");
        let changes: [(&str, &dyn Fn()); 5] = [
            ("written to", &|| fs::write(&path, "changed").unwrap()),
            ("replaced", &|| {
                fs::write(&beside, "another one").unwrap();
                fs::rename(&beside, &path).unwrap();
            }),
            ("deleted", &|| fs::remove_file(&path).unwrap()),
            ("made again", &|| fs::write(&path, "again").unwrap()),
            ("cut", &|| fs::File::create(&path).map(drop).unwrap()),
        ];
        for (what, change) in changes {
            // A file beside it sends no notification.
            fs::write(served.at("sub/other.txt"), what).unwrap();
            assert_eq!(host.else_changed().await, [""; 0], "{what}");
            change();
            assert_eq!(host.changed().await, uri, "{what}");
            assert!(host.else_changed().await.iter().all(|other| *other == uri));
        }
    }
}

#[tokio::test]
async fn watched_folder_reports_changes_of_its_children() {
    for era in [Era::Legacy, Era::Modern] {
        let served = Served::prepared(&format!("watched folder {era:?}"));
        let mut host = served.to(era, &[]).await;
        let root = host.root().await;
        let uris = [format!("{root}/sub"), root];
        host.watch(&[&uris[0], &uris[1]]).await;
        fs::write(served.at("sub/new.txt"), "new").unwrap();
        assert_eq!(host.changed().await, uris[0]);
        host.else_changed().await;
        fs::remove_file(served.at("sub/new.txt")).unwrap();
        assert_eq!(host.changed().await, uris[0]);
        host.else_changed().await;
        fs::write(served.at("new.txt"), "new").unwrap();
        assert_eq!(host.changed().await, uris[1]);
    }
}

#[tokio::test]
async fn change_by_a_tool_is_reported_to_subscribers() {
    let served = Served::prepared("changed by a tool");
    let mut host = served.to(Era::Legacy, &[]).await;
    let uri = format!("{}/sub/inner.md", host.root().await);
    host.watch(&[&uri]).await;
    for action in ["append", "replace"] {
        host.send("tools/call", &json!({"name": "manage_files", "arguments": manage_with(action, "sub/inner.md", action)})).await;
        assert_eq!(host.changed().await, uri, "{action}");
        host.else_changed().await;
    }
    host.result("resources/unsubscribe", &json!({"uri": uri})).await;
    fs::write(served.at("sub/inner.md"), "nobody looks").unwrap();
    assert_eq!(host.else_changed().await, [""; 0]);
}

#[tokio::test]
async fn new_file_sends_list_changed() {
    for era in [Era::Legacy, Era::Modern] {
        let served = Served::prepared(&format!("watched list {era:?}"));
        let mut host = served.to(era, &[]).await;
        if era == Era::Modern {
            let filter = json!({"notifications": {"resourcesListChanged": true}});
            host.send("subscriptions/listen", &filter).await;
            let told = host.program.next().await;
            assert_eq!(told["params"]["notifications"], json!({"resourcesListChanged": true}));
        }
        fs::write(served.at("new.txt"), "new").unwrap();
        let told = host.program.next().await;
        assert_eq!(told["method"], "notifications/resources/list_changed", "{told}");
        let listed = host.result("resources/list", &json!({})).await;
        assert!(each(&listed["resources"], "name").contains(&"new.txt"), "{listed}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn subscription_to_an_unwatchable_resource_is_refused() {
    let served = Served::prepared("not watched");
    std::os::unix::fs::symlink("../outside/secret.txt", served.at("out.txt")).unwrap();
    let mut host = served.to(Era::Legacy, &[]).await;
    let root = host.root().await;
    let out = format!("{root}/out.txt");
    let error = host.error("resources/subscribe", &json!({"uri": out})).await;
    assert!(error["message"].as_str().unwrap().contains("capabilities.subscribe"), "{error}");
    for path in ["nowhere.txt", ".hidden", "../outside", "%2e%2e/outside/secret.txt"] {
        let uri = format!("{root}/{path}");
        let error = host.error("resources/subscribe", &json!({"uri": uri})).await;
        assert_eq!(error["data"], json!({"uri": uri}), "{error}");
    }
    let mut host = served.serve().await;
    let (hello, hidden) = (format!("{root}/hello.txt"), format!("{root}/.hidden"));
    let uris = [&out, &hello, &hidden];
    let filter = json!({"notifications": {"resourceSubscriptions": uris}});
    host.send("subscriptions/listen", &filter).await;
    let told: Value = host.program.next().await;
    let accepted = &told["params"]["notifications"]["resourceSubscriptions"];
    assert_eq!(*accepted, json!([hello]), "{told}");
}
