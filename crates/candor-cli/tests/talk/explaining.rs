//! `candor explain`: what a call would do.

use crate::World;

fn manage<'a>(action: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["explain", "manage_files", "path=a.txt", action], more].concat()
}

#[tokio::test]
async fn what_reads_runs_and_what_deletes_is_asked_about() {
    let world = World::new("explaining");
    let told = world.over_stdio(&manage("action=read", &[])).await.ended(0);
    told.says("reads · repeatable · stays local   → runs without asking\n");
    told.says("only reads          yes  asked\n");
    told.says("\n\"candor-files ");
    told.says("\" is believed, and was asked about exactly these arguments.");
    let told = world.over_stdio(&manage("action=delete", &["--preview"])).await.ended(0);
    told.says("DELETES · repeatable · stays local   → would be asked here first\n");
    told.says("  | Delete a.txt (5 bytes, text). It cannot be undone.");
    assert!(world.has("a.txt"), "nothing was called");
}

#[tokio::test]
async fn a_server_that_asks_itself_says_so() {
    let world = World::new("explaining approval");
    let (_server, target) = world.serve(&[]).await;
    let words = ["explain", &target, "manage_files", "path=a.txt", "action=delete"];
    let told = world.run(&words).await.ended(0);
    told.says("DELETES · repeatable · stays local   → waits for approval\n");
    told.says("Its own policy asks a person before this call.");
    let stranger = world.run(&[&words[..], &["--trust", "stranger"]].concat()).await.ended(0);
    stranger.says("May change or delete · not repeatable · reaches outside   → would be asked here first, then waits for approval");
    // It is not asked about a tool whose calls all do the same: the list says what becomes of them.
    let (_server, target) = world.serve(&["--ask", "writes"]).await;
    let told = world.run(&["explain", &target, "make_folder", "path=new"]).await.ended(0);
    told.says("adds · repeatable · stays local   → waits for approval\n");
    told.says("Its own policy asks a person before this call.");
    world.run(&["explain", &target, "list_files"]).await.ended(0).says("→ runs without asking");
    let (_server, target) = world.serve(&["--deny", "manage_files"]).await;
    let words = ["explain", &target, "manage_files", "path=a.txt", "action=read"];
    world.run(&words).await.ended(0).says("→ the server refuses it");
}

#[tokio::test]
async fn where_each_hint_comes_from_is_told() {
    let world = World::new("explaining sources");
    let told = world.over_stdio(&["explain", "list_files"]).await.ended(0);
    told.says("only reads          yes  declared\n");
    told.says("the tool declares this for all its calls");
    let told = world.scripted(&["explain", "silent"]).await.ended(0);
    told.says("changes or deletes  yes  default\n");
    told.says("Unclassified (treated as the worst case)   → would be asked here first\n");
    told.says("does not classify this tool: the worst is assumed");
    assert!(!told.stdout.contains("DELETES"), "{told:?}");
    let told = world.scripted(&["explain", "say", "--trust", "stranger"]).await.ended(0);
    told.says(
        "May change or delete · not repeatable · reaches outside   → would be asked here first",
    );
    told.says("only reads          yes  declared\n");
    told.says("says so, and is not believed");
}

#[tokio::test]
async fn programs_get_all_of_it() {
    let world = World::new("explaining json");
    let told = world.over_stdio(&manage("action=delete", &["--preview", "--json"])).await.ended(0);
    let result = told.result();
    assert_eq!(result["next"], "asked_here");
    assert_eq!(result["here"], "ask");
    assert_eq!(result["server"], "allow");
    assert_eq!(result["basis"], "asked");
    assert_eq!(result["believed"], true);
    assert_eq!(result["hints"]["destructiveHint"]["value"], true);
    assert_eq!(result["hints"]["destructiveHint"]["source"], "asked");
    assert_eq!(result["arguments"]["path"], "a.txt");
    assert_eq!(result["preview"], "Delete a.txt (5 bytes, text). It cannot be undone.");
}

#[tokio::test]
async fn arguments_that_do_not_fit_are_named() {
    let world = World::new("explaining invalid");
    let told = world.over_stdio(&["explain", "manage_files", "action=delte"]).await.ended(6);
    told.complains("did you mean delete?");
    let told = world.over_stdio(&manage("acton=read", &["--json"])).await.ended(6);
    let error = told.error();
    assert_eq!(error["code"], "invalid_arguments");
    assert_eq!(error["violations"][0]["parameter"], "acton");
    assert_eq!(error["violations"][0]["instead"], "did you mean action?");
    let told = world.over_stdio(&["explain", "search_files", "limit=0"]).await.ended(6);
    // What the schema says is told as everything else is.
    told.complains("the arguments do not fit search_files; nothing was sent\n  limit: expected ");
    told.complains("\nsearch_files(path: string");
}

#[tokio::test]
async fn a_preview_that_cannot_be_shown_leaves_the_rest() {
    let world = World::new("explaining previews");
    let told = world.over_stdio(&["explain", "list_files", "--preview"]).await.ended(0);
    told.says("its preview shows nothing: list_files has no preview\n");
    let words = manage("action=delete", &["--preview", "--trust", "stranger", "--json"]);
    let result = world.over_stdio(&words).await.ended(0).result();
    assert_eq!(result["next"], "asked_here");
    assert!(result["noPreview"].as_str().unwrap().contains("may do more than read"));
    let told =
        world.over_stdio(&["explain", "manage_files", "path=no", "action=read", "--preview"]);
    told.await.ended(0).says("nothing: the tool reports a failure: \"`no` does not exist");
}
