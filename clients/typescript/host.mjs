// The host of a client: a user, a model and folders, which answer as the story says and store the
// questions. If the story has a validator of schemas, that too. `Ear` receives the server's
// notifications.

/** Answers the three kinds of question. */
export class Host {
  #story;
  asked = [];
  /** The user's answer to every question, if the story does not know the wording of the questions. */
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

/** Notifications in order, for one listener. */
export class Ear {
  #heard = [];
  #waiting;

  hear = notification => {
    this.#heard.push(notification);
    this.#waiting?.();
  };

  /** Returns the next notification, and waits for it if necessary. */
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
