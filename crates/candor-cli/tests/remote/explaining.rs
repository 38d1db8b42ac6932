//! `candor explain`: what a call would do.

use crate::World;

fn manage<'a>(action: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["explain", "manage_files", "path=a.txt", action], more].concat()
}

#[tokio::test]
async fn explain_requires_confirmation_for_deletions_but_not_reads() {
    let world = World::new("explaining");
    let told = world.over_stdio(&manage("action=read", &[])).await.ended(0);
    told.says("Reads · safe to retry · local   → Runs now\n");
    told.says("read-only      yes  asked\n");
    told.says("\n\"candor-files ");
    told.says("\" is trusted, and evaluated exactly these arguments.");
    let told = world.over_stdio(&manage("action=delete", &["--preview"])).await.ended(0);
    told.says("Deletes · safe to retry · local   → Needs confirmation\n");
    told.says("  | Delete a.txt (5 bytes, text). It cannot be undone.");
    assert!(world.has("a.txt"), "nothing was called");
}

#[tokio::test]
async fn explain_shows_the_policy_of_the_server() {
    let world = World::new("explaining approval");
    let (_server, target) = world.serve(&[]).await;
    let words = ["explain", &target, "manage_files", "path=a.txt", "action=delete"];
    let told = world.run(&words).await.ended(0);
    told.says("Deletes · safe to retry · local   → Needs approval\n");
    told.says("The server's policy requires approval for this call.");
    let untrusted = world.run(&[&words[..], &["--trust", "none"]].concat()).await.ended(0);
    untrusted.says(
        "May change or delete · not safe to retry · external   → Needs confirmation, then approval",
    );
    // A tool with one effect is not evaluated: the list has its verdict.
    let (_server, target) = world.serve(&["--ask", "writes"]).await;
    let told = world.run(&["explain", &target, "make_folder", "path=new"]).await.ended(0);
    told.says("Adds · safe to retry · local   → Needs approval\n");
    told.says("The server's policy requires approval for this call.");
    world.run(&["explain", &target, "list_files"]).await.ended(0).says("→ Runs now");
    let (_server, target) = world.serve(&["--deny", "manage_files"]).await;
    let words = ["explain", &target, "manage_files", "path=a.txt", "action=read"];
    world.run(&words).await.ended(0).says("→ Refused by the server");
}

#[tokio::test]
async fn explain_shows_the_source_of_each_hint() {
    let world = World::new("explaining sources");
    let told = world.over_stdio(&["explain", "list_files"]).await.ended(0);
    told.says("read-only      yes  declared\n");
    told.says("The tool declares these hints for all its calls");
    let told = world.scripted(&["explain", "silent"]).await.ended(0);
    told.says("destructive    yes  default\n");
    told.says("Unclassified   → Needs confirmation\n");
    told.says("does not classify this tool, so the worst case applies");
    assert!(!told.stdout.contains("Deletes"), "{told:?}");
    let told = world.scripted(&["explain", "say", "--trust", "none"]).await.ended(0);
    told.says("May change or delete · not safe to retry · external   → Needs confirmation");
    told.says("read-only      yes  declared\n");
    told.says("is untrusted, so the worst case applies. (--trust hints)");
}

#[tokio::test]
async fn explain_json_has_every_fact() {
    let world = World::new("explaining json");
    let told = world.over_stdio(&manage("action=delete", &["--preview", "--json"])).await.ended(0);
    let result = told.result();
    assert_eq!(result["next"], "confirm");
    assert_eq!(result["hostVerdict"], "ask");
    assert_eq!(result["serverVerdict"], "allow");
    assert_eq!(result["basis"], "asked");
    assert_eq!(result["trusted"], true);
    assert_eq!(result["hints"]["destructiveHint"]["value"], true);
    assert_eq!(result["hints"]["destructiveHint"]["source"], "asked");
    assert_eq!(result["arguments"]["path"], "a.txt");
    assert_eq!(result["preview"], "Delete a.txt (5 bytes, text). It cannot be undone.");
}

#[tokio::test]
async fn explain_names_invalid_arguments() {
    let world = World::new("explaining invalid");
    let told = world.over_stdio(&["explain", "manage_files", "action=delte"]).await.ended(6);
    told.complains("did you mean delete?");
    let told = world.over_stdio(&manage("acton=read", &["--json"])).await.ended(6);
    let error = told.error();
    assert_eq!(error["code"], "invalid_arguments");
    assert_eq!(error["violations"][0]["parameter"], "acton");
    assert_eq!(error["violations"][0]["instead"], "did you mean action?");
    let told = world.over_stdio(&["explain", "search_files", "limit=0"]).await.ended(6);
    // A violation of the schema is reported like any other problem.
    told.complains(
        "Nothing was run. The arguments of search_files are invalid:\n  limit: expected ",
    );
    told.complains("\nsearch_files(path: string");
}

#[tokio::test]
async fn explain_without_a_preview_shows_the_rest() {
    let world = World::new("explaining previews");
    let told = world.over_stdio(&["explain", "list_files", "--preview"]).await.ended(0);
    told.says("no preview: list_files has no preview\n");
    let words = manage("action=delete", &["--preview", "--trust", "none", "--json"]);
    let result = world.over_stdio(&words).await.ended(0).result();
    assert_eq!(result["next"], "confirm");
    assert!(result["noPreview"].as_str().unwrap().contains("may do more than read"));
    let told =
        world.over_stdio(&["explain", "manage_files", "path=no", "action=read", "--preview"]);
    told.await.ended(0).says("no preview: the tool reports a failure: \"`no` does not exist");
}
