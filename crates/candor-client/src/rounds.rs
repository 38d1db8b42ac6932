//! A request and its result. In the modern era, the server may ask questions in between.

use candor_protocol::Era;
use candor_protocol::json::{Json, Object, RawValue, raw};
use candor_protocol::names::method;
use candor_protocol::rpc::{ErrorObject, code};
use candor_protocol::types::InputRequired;

use crate::client::{Client, read};
use crate::error::Error;
use crate::host::ElicitFailure;
use crate::members::{members_of, quoted};
use crate::session::{OutgoingRequest, Session};
use crate::unsent::RunningRequest;

/// The maximum number of questions in one round. The client refuses more.
const MOST_QUESTIONS: usize = 16;

/// An answer, and how many rounds of questions it took.
pub(crate) struct RoundAnswer {
    pub(crate) result: Box<RawValue>,
    pub(crate) rounds: u32,
}

impl Client {
    /// Sends a request and waits for its result. A question of the server is an error.
    pub(crate) async fn ask(&self, wish: OutgoingRequest<'_>) -> Result<Box<RawValue>, Error> {
        let (session, result) = self.send(&wish).await?;
        match kind_of(&session, &result)? {
            Kind::Complete => Ok(result),
            Kind::InputRequired(_) => {
                Err(Error::protocol("it asks something where it may not ask"))
            }
        }
    }

    /// Sends a request that the server may answer with questions. Answers them, up to the maximum number of rounds.
    pub(crate) async fn ask_in_rounds(
        &self,
        wish: OutgoingRequest<'_>,
    ) -> Result<RoundAnswer, Error> {
        match wish.method {
            method::PROMPTS_GET | method::RESOURCES_READ => {
                let running = self.host().running();
                self.ask_as(&running, wish).await
            }
            // Servers ask no questions about a list.
            _ => self.rounds(wish).await,
        }
    }

    /// Sends a request that the caller has noted as running, and answers the server's questions.
    pub(crate) async fn ask_as(
        &self,
        running: &RunningRequest<'_>,
        wish: OutgoingRequest<'_>,
    ) -> Result<RoundAnswer, Error> {
        let answer = self.rounds(OutgoingRequest { running: Some(running), ..wish }).await;
        let Err(error) = answer else { return answer };
        let said = match error.cause() {
            Error::Server(error) => Some(error.message.as_str()),
            _ => None,
        };
        Err(running.unsent_answer(said).await.map_or(error, Error::InvalidAnswer))
    }

    async fn rounds(&self, mut wish: OutgoingRequest<'_>) -> Result<RoundAnswer, Error> {
        let mut rounds = 0;
        // The parameters before the first question, if there is one.
        let mut original = None;
        loop {
            // After a question, the server has the request, even if it never gets the answer.
            let sent = wish.writes && rounds > 0;
            let (session, result) = self.send(&wish).await.map_err(|error| match sent {
                true if !error.is_claim() => error.of_sent_call(),
                _ => error,
            })?;
            let asked = match kind_of(&session, &result)? {
                Kind::Complete => return Ok(RoundAnswer { result, rounds }),
                Kind::InputRequired(asked) => asked,
            };
            rounds += 1;
            if rounds > self.limits().max_rounds {
                return Err(Error::TooManyRounds(self.limits().max_rounds));
            }
            wish.params = original.get_or_insert_with(|| wish.params.clone()).clone();
            let answers = self.answers(&asked).await.map_err(|error| match wish.writes {
                true => error.of_sent_call(),
                false => error,
            })?;
            if !answers.is_empty() {
                wish.params.set("inputResponses", raw(&answers));
            }
            // The state goes back as received, whatever it contains.
            if let Some(state) = &asked.request_state {
                wish.params.set("requestState", raw(state));
            }
        }
    }

    /// Answers a round of questions.
    async fn answers(&self, asked: &InputRequired) -> Result<Object, Error> {
        let number = asked.input_requests.iter().flatten().count();
        if number > MOST_QUESTIONS {
            return Err(Error::protocol(format!("it asks {number} questions at once")));
        }
        let questions = asked.input_requests.iter().flatten();
        let answers = futures_util::future::join_all(questions.map(|(key, question)| async move {
            let params = question.params.as_ref().map(|params| members_of(params)).transpose();
            let params = params.map_err(Error::protocol)?.unwrap_or_default();
            match self.host().answer(&question.method, params).await {
                Ok(answer) => Ok((key.clone(), answer)),
                Err(ElicitFailure::Told(error)) => Err(unanswered(&question.method, &error)),
                Err(ElicitFailure::Invalid(invalid)) => Err(Error::InvalidAnswer(invalid)),
            }
        }));
        answers.await.into_iter().collect()
    }
}

enum Kind {
    Complete,
    InputRequired(InputRequired),
}

/// Returns the kind of a result. Legacy results, and results whose server omits the kind, are complete.
fn kind_of(session: &Session, result: &RawValue) -> Result<Kind, Error> {
    if session.era() == Era::Legacy {
        return Ok(Kind::Complete);
    }
    let kind = Json::from(result).entries().find(|(name, _)| name == "resultType");
    let kind = kind.map(|(_, kind)| kind.as_str()).transpose().map_err(Error::protocol)?;
    match kind.as_deref() {
        None | Some("complete") => Ok(Kind::Complete),
        Some("input_required") => read(result).map(Kind::InputRequired),
        Some(other) => {
            Err(Error::protocol(format!("its result is of an unknown type {}", quoted(other))))
        }
    }
}

fn unanswered(question: &str, error: &ErrorObject) -> Error {
    // The message would only repeat the method.
    let why = match error.code() {
        code::METHOD_NOT_FOUND => String::new(),
        _ => format!(" ({})", quoted(&error.message)),
    };
    let question = quoted(question);
    Error::Unsupported(format!(
        "an answer without {question}, which this client cannot answer{why}"
    ))
}
