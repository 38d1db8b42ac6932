//! Whom the command line believes.

use crate::World;

#[tokio::test]
async fn a_stranger_is_asked_about_whatever_it_says() {
    let world = World::new("trusting");
    let say = ["call", "say", "text=hi"];
    world.scripted(&say).await.ended(0).says("hi");
    let told = world.scripted(&[&say[..], &["--trust", "stranger"]].concat()).await.ended(3);
    told.complains("this server is a stranger");
    told.complains("--trust known");
    let told = world.scripted(&[&say[..], &["--trust", "stranger", "--yes"]].concat()).await;
    told.ended(0).says("hi");
    world.scripted(&["tools", "--trust", "stranger"]).await.ended(0).complains("is a stranger");
}

#[tokio::test]
async fn the_help_says_who_is_believed() {
    let world = World::new("trusting help");
    let told = world.run(&["call", "--help"]).await.ended(0);
    let help = told.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        help.contains(
            "[default: known for programs and for servers on this machine, unless a project's file has the URL; stranger for all others]"
        ),
        "{help}"
    );
    assert!(
        help.contains("its question is the one that counts, and --yes does not answer it"),
        "{help}"
    );
}
