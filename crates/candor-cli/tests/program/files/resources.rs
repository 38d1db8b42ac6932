//! The folder as a tree of resources.

use serde_json::{Value, json};

use super::{ERAS, Era, Host, Served, each};

async fn read(host: &mut Host, uri: &str) -> Value {
    host.result("resources/read", &json!({"uri": uri})).await
}

#[tokio::test]
async fn resource_list_has_the_folder_and_its_children_in_both_eras() {
    let served = Served::prepared("resources");
    for era in ERAS {
        let mut host = served.to(era, &[]).await;
        let listed = host.result("resources/list", &json!({})).await["resources"].take();
        let names = each(&listed, "name");
        assert_eq!(names, ["served folder, ü", "bytes.bin", "hello.txt", "sub"]);
        let root = host.root().await;
        assert!(root.starts_with("file:///") && root.is_ascii() && !root.contains(' '), "{root}");
        assert_eq!(
            each(&listed, "uri")[1..],
            ["/bytes.bin", "/hello.txt", "/sub"].map(|p| format!("{root}{p}"))
        );

        let hello = &listed[2];
        assert_eq!(
            (&hello["mimeType"], &hello["size"], &hello["capabilities"]),
            (&json!("text/plain"), &json!(14), &json!({"list": false, "subscribe": true}))
        );
        assert!(hello["annotations"]["lastModified"].is_string(), "{hello}");
        let sub = &listed[3];
        assert_eq!(
            (&sub["mimeType"], sub.get("size"), &sub["capabilities"]),
            (&json!("inode/directory"), None, &json!({"list": true, "subscribe": true}))
        );
        let mirror = &sub["_meta"]["dev.candor/resource"]["capabilities"];
        assert_eq!(*mirror, sub["capabilities"], "for clients that do not know the member");

        let of = async |host: &mut Host, uri: &str| {
            host.result("resources/list", &json!({"uri": uri})).await["resources"].take()
        };
        assert_eq!(of(&mut host, &root).await, json!(listed.as_array().unwrap()[1..]));
        let sub = of(&mut host, &format!("{root}/sub")).await;
        assert_eq!(each(&sub, "name"), ["deeper", "inner.md"]);
        let params = json!({"uri": format!("{root}/sub")});
        let same = host.result("resources/directory/read", &params).await;
        assert_eq!(same["resources"], sub);
        for uri in each(&sub, "uri") {
            let known = host.result("resources/metadata", &json!({"uri": uri})).await;
            assert!(sub.as_array().unwrap().contains(&known["resource"]), "{known}");
        }
        let no_folder = json!({"uri": format!("{root}/hello.txt")});
        let error = host.error("resources/list", &no_folder).await;
        assert_eq!(error["code"], -32602, "{error}");
        assert!(error["message"].as_str().unwrap().contains("no children to list"), "{error}");
    }
}

#[tokio::test]
async fn resource_read_returns_text_or_bytes_with_metadata() {
    let served = Served::prepared("read");
    for era in ERAS {
        let mut host = served.to(era, &[]).await;
        let root = host.root().await;
        for (path, mime_type, member, content) in [
            ("hello.txt", "text/plain", "text", "Hello, folder!"),
            ("sub/inner.md", "text/markdown", "text", "# Inner"),
            ("sub/deeper/100%25%20gr%C3%B6%C3%9Fer%3F%20%231.txt", "text/plain", "text", "deep"),
            ("bytes.bin", "application/octet-stream", "blob", "/wD+"),
        ] {
            let uri = format!("{root}/{path}");
            let read = read(&mut host, &uri).await;
            let [content_read] = &read["contents"].as_array().unwrap()[..] else {
                panic!("{read}")
            };
            assert_eq!(content_read["uri"], *uri);
            assert_eq!(content_read["mimeType"], mime_type);
            assert_eq!(content_read[member], content);
            let known = host.result("resources/metadata", &json!({"uri": uri})).await;
            for member in ["name", "size", "annotations", "capabilities"] {
                assert_eq!(content_read[member], known["resource"][member], "{path}: {member}");
            }
        }
    }
}

#[tokio::test]
async fn folder_read_returns_its_texts_and_marks_a_subset() {
    let served = Served::prepared("folder read");
    served.write("texts/one.txt", "one");
    served.write("texts/two.txt", "two");
    for era in ERAS {
        let mut host = served.to(era, &[]).await;
        let root = host.root().await;
        let all = read(&mut host, &format!("{root}/texts")).await;
        assert_eq!(each(&all["contents"], "text"), ["one", "two"]);
        assert_eq!(each(&all["contents"], "name"), ["one.txt", "two.txt"]);
        assert_eq!(all["_meta"]["dev.candor/resource"]["subset"], false);
        let some = read(&mut host, &root).await;
        assert_eq!(each(&some["contents"], "text"), ["Hello, folder!"]);
        assert_eq!(some["contents"][0]["uri"], format!("{root}/hello.txt"));
        assert_eq!(some["_meta"]["dev.candor/resource"]["subset"], true);
    }
}

#[tokio::test]
async fn oversized_resource_has_metadata_but_cannot_be_read() {
    let served = Served::empty("large resource");
    served.write("fits.txt", "x".repeat(100));
    served.write("large.txt", "x".repeat(101));
    for era in ERAS {
        let mut host = served.to(era, &["--max-file", "100"]).await;
        let root = host.root().await;
        assert_eq!(read(&mut host, &format!("{root}/fits.txt")).await["contents"][0]["size"], 100);
        let uri = json!({"uri": format!("{root}/large.txt")});
        assert_eq!(host.result("resources/metadata", &uri).await["resource"]["size"], 101);
        let error = host.error("resources/read", &uri).await;
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("101 bytes") && message.contains("100 are allowed"), "{error}");
    }
}

#[tokio::test]
async fn missing_resource_is_not_found() {
    let served = Served::prepared("missing");
    for (era, code) in [(Era::Legacy, -32002), (Era::Modern, -32602)] {
        let mut host = served.to(era, &[]).await;
        let uri = format!("{}/nowhere.txt", host.root().await);
        let error = host.error("resources/read", &json!({"uri": uri})).await;
        let expected = json!({"code": code, "message": "Resource not found", "data": {"uri": uri}});
        assert_eq!(error, expected, "{era:?}");
        for method in ["resources/metadata", "resources/list"] {
            let error = host.error(method, &json!({"uri": uri})).await;
            let said = (&error["code"], &error["data"]["uri"]);
            assert_eq!(said, (&json!(-32602), &json!(uri)), "{method}, {era:?}: {error}");
        }
        for params in [json!({}), json!({"uri": 7}), json!({"uri": null})] {
            let error = host.error("resources/metadata", &params).await;
            assert_eq!(error["code"], -32602, "{params}, {era:?}: {error}");
        }
    }
}

#[tokio::test]
async fn empty_folder_has_an_empty_list() {
    let served = Served::empty("empty folder");
    std::fs::create_dir(served.at("empty")).unwrap();
    for era in ERAS {
        let mut host = served.to(era, &[]).await;
        let uri = format!("{}/empty", host.root().await);
        let listed = host.result("resources/list", &json!({"uri": uri})).await;
        assert_eq!(listed["resources"], json!([]), "{era:?}: {listed}");
        assert_eq!(listed.get("nextCursor"), None, "{era:?}: {listed}");
    }
}

#[tokio::test]
async fn large_folder_is_listed_page_by_page() {
    let served = Served::empty("resource pages");
    let names: Vec<String> = (0..1234).map(|n| format!("{n:04}.txt")).collect();
    for name in &names {
        served.write(&format!("many/{name}"), "");
    }
    let mut host = served.serve().await;
    let uri = format!("{}/many", host.root().await);
    let (mut listed, mut pages, mut params) = (Vec::new(), 0, json!({"uri": uri}));
    loop {
        let page = host.result("resources/list", &params).await;
        listed.extend(each(&page["resources"], "name").iter().map(|&name| name.to_owned()));
        pages += 1;
        let Some(cursor) = page.get("nextCursor") else { break };
        params = json!({"uri": uri, "cursor": cursor});
    }
    assert!(pages > 1);
    assert_eq!(listed, names);
    let elsewhere = json!({"uri": host.root().await, "cursor": params["cursor"]});
    assert_eq!(host.error("resources/list", &elsewhere).await["code"], -32602);
}

#[tokio::test]
async fn resource_path_is_completed_from_its_prefix() {
    let served = Served::prepared("completed");
    for era in ERAS {
        let mut host = served.to(era, &[]).await;
        let templates = host.result("resources/templates/list", &json!({})).await;
        let template = templates["resourceTemplates"][0]["uriTemplate"].as_str().unwrap();
        assert_eq!(template, format!("{}/{{+path}}", host.root().await));
        for (typed, proposed) in [
            ("", &["bytes.bin", "hello.txt", "sub/"][..]),
            ("he", &["hello.txt"]),
            ("sub", &["sub/"]),
            ("sub/", &["sub/deeper/", "sub/inner.md"]),
            ("sub/deeper/1", &["sub/deeper/100%25%20gr%C3%B6%C3%9Fer%3F%20%231.txt"]),
            (".", &[]),
            (".config/", &[]),
            ("../", &[]),
            ("%2e%2e/outside/", &[]),
            ("/etc/", &[]),
            ("nowhere/", &[]),
        ] {
            let params = json!({
                "ref": {"type": "ref/resource", "uri": template},
                "argument": {"name": "path", "value": typed},
            });
            let completed = host.result("completion/complete", &params).await;
            assert_eq!(completed["completion"]["values"], json!(proposed), "{typed:?}");
            assert_eq!(completed["completion"]["hasMore"], false);
        }
    }
}
