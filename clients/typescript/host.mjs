// What stands behind a client: a person, a model, folders. They answer as the story says, and
// remember what they were asked. A judge of schemas, in a story that has one. And an ear for what
// the server tells without being asked.

/** Answers the three kinds of question. */
export class Host {
  #story;
  asked = [];
  /** What the person says to whatever they are asked, where the story cannot know the words. */
  answer;
  judge;

  constructor(story) {
    this.#story = story;
  }

  person = request => {
    const { message, requestedSchema } = request.params;
    this.asked.push({ message, requestedSchema });
    return this.answer ?? known(this.#story.person ?? {}, message);
  };

  model = request => {
    const [{ content }] = request.params.messages;
    const text = known(this.#story.model, content.text);
    return { role: 'assistant', model: 'story', content: { type: 'text', text } };
  };

  folders = () => ({ roots: this.#story.folders });
}

function known(answers, question) {
  if (!(question in answers)) {
    throw new Error(`the story has no answer to ${JSON.stringify(question)}`);
  }
  return answers[question];
}

/** Notifications in the order of their arrival, for one listener. */
export class Ear {
  #heard = [];
  #waiting;

  hear = notification => {
    this.#heard.push(notification);
    this.#waiting?.();
  };

  /** The next one, now or later. */
  async next() {
    while (this.#heard.length === 0) {
      await new Promise(resolve => (this.#waiting = resolve));
    }
    return this.#heard.shift();
  }

  forget() {
    this.#heard.length = 0;
  }

  get silent() {
    return this.#heard.length === 0;
  }
}
