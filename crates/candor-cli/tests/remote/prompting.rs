//! `candor prompts`.

use crate::World;

#[tokio::test]
async fn prompts_are_listed_and_filled_in() {
    let world = World::new("prompting");
    let told = world.scripted(&["prompts"]).await.ended(0);
    told.says("greet(who: string, tone?: string)  | Greets\\u{1b}[2J");
    let told = world.scripted(&["prompts", "greet", "who=Ann"]).await.ended(0);
    told.says("user: {\"who\": \"Ann\"}\\u{1b}[2J");
    let result = world.scripted(&["prompts", "greet", "who=7", "--json"]).await.ended(0).result();
    let text = result["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(text.starts_with("{\"who\": \"7\"}"), "{text}");
}

#[tokio::test]
async fn misspelled_or_missing_prompt_words_are_reported() {
    let world = World::new("prompting typos");
    let told = world.scripted(&["prompts", "great", "who=Ann"]).await.ended(2);
    told.complains("Unknown prompt: great. Did you mean greet?");
    let told = world.scripted(&["prompts", "greet"]).await.ended(6);
    told.complains("who: required, but missing");
    let told = world.scripted(&["prompts", "greet", "who=Ann", "tune=x"]).await.ended(6);
    told.complains("did you mean tone?");
    let told = world.over_stdio(&["prompts", "--json"]).await.ended(1);
    assert_eq!(told.error()["code"], "unsupported");
}
