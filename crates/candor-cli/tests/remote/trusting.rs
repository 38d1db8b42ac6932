//! Which servers the command line trusts.

use crate::World;

#[tokio::test]
async fn every_call_of_an_untrusted_server_needs_confirmation() {
    let world = World::new("trusting");
    let say = ["call", "say", "text=hi"];
    world.scripted(&say).await.ended(0).says("hi");
    let told = world.scripted(&[&say[..], &["--trust", "none"]].concat()).await.ended(3);
    told.complains("this server is untrusted");
    told.complains("--trust hints");
    let told = world.scripted(&[&say[..], &["--trust", "none", "--yes"]].concat()).await;
    told.ended(0).says("hi");
    world.scripted(&["tools", "--trust", "none"]).await.ended(0).complains("is untrusted");
}

#[tokio::test]
async fn help_names_the_servers_that_are_trusted_by_default() {
    let world = World::new("trusting help");
    let told = world.run(&["call", "--help"]).await.ended(0);
    let help = told.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        help.contains(
            "[default: hints for programs and for servers on this machine, unless a project's file has the URL; none for all others]"
        ),
        "{help}"
    );
    assert!(help.contains("only its request counts, and --yes does not answer it"), "{help}");
}
