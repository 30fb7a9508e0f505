//! A pipeline on a driven clock: second by second, each only when all that the last one brought is done.

use super::case::{Act, Case, Step};
use super::client::send;
use super::counters;
use super::sink::Sink;
use super::version::Version;
use super::{answer::Answer, arrivals, config};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tailwater::clock::{Clock, ManualClock, SECOND};
use tailwater::pipeline::{Pipeline, Readiness};
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_util::task::AbortOnDropHandle;

/// Time zero of every case: a whole second, so that it is a tick.
const ZERO: u64 = 1_700_000_000 * SECOND;
/// A pipeline that is not done after so long is stuck.
const PATIENCE: Duration = Duration::from_secs(180);
/// How long a send may take that the config may hold up.
const HELD_UP: Duration = Duration::from_secs(5);

/// Runs a case to its end.
pub(crate) async fn run(case: &Case, version: Version) -> Answer {
    let clock = Arc::new(ManualClock::at(ZERO));
    let sink = Sink::start(clock.clone(), ZERO).await;
    let refused = |error: String| Answer {
        outcome: "refused".to_owned(),
        error,
        ..Answer::default()
    };
    let config = match config::load(case, version, sink.port) {
        Ok(config) => config,
        Err(errors) => return refused(errors),
    };
    match Pipeline::start_with(&config, clock.clone()).await {
        Ok(pipeline) => Driver::new(case, clock, sink, pipeline).run().await,
        Err(error) => refused(error.to_string()),
    }
}

struct Driver<'c> {
    case: &'c Case,
    clock: Arc<ManualClock>,
    sink: Sink,
    pipeline: Option<Pipeline>,
    /// Requests that nobody waits for.
    sending: JoinSet<(usize, u16)>,
    last: BTreeMap<String, i64>,
    answer: Answer,
}

/// Why a case ends early: the outcome, and more about it.
type Failed = (&'static str, String);

impl<'c> Driver<'c> {
    fn new(case: &'c Case, clock: Arc<ManualClock>, sink: Sink, pipeline: Pipeline) -> Self {
        Self {
            case,
            clock,
            sink,
            pipeline: Some(pipeline),
            sending: JoinSet::new(),
            last: BTreeMap::new(),
            answer: Answer {
                outcome: "ran".to_owned(),
                ..Answer::default()
            },
        }
    }

    async fn run(mut self) -> Answer {
        if let Err((outcome, error)) = self.play().await {
            self.answer.outcome = outcome.to_owned();
            self.answer.error = error;
        }
        let before = self.sink.count();
        self.stop().await;
        self.answer.released_at_shutdown = self.sink.count() - before;
        while let Some(sent) = self.sending.join_next().await {
            let (step, status) = sent.unwrap();
            self.sent(step, status);
        }
        let mut traces = arrivals::traces(&self.sink.arrivals());
        for trace in self.case.traces.keys() {
            traces.entry(trace.clone()).or_default();
        }
        if self.case.compact {
            let kept = traces.iter().filter(|(_, trace)| trace.kept);
            self.answer.kept = Some(kept.map(|(id, _)| id.clone()).collect());
        } else {
            self.answer.traces = traces;
        }
        self.answer
    }

    /// All steps and the counters at the end.
    async fn play(&mut self) -> Result<(), Failed> {
        self.settle().await?;
        let case = self.case;
        for (number, step) in case.steps.iter().enumerate() {
            self.move_to(step.at).await?;
            self.step(number, step).await?;
        }
        self.move_to(case.end).await?;
        if self.pipeline.is_some() {
            self.answer.metrics = self.scrape().await;
        }
        Ok(())
    }

    async fn step(&mut self, number: usize, step: &Step) -> Result<(), Failed> {
        match self.case.act(step) {
            Act::Send(body) => self.send(number, body).await,
            Act::Votes => {
                let now = self.scrape().await;
                self.answer.votes.push(counters::votes(&self.last, &now));
                self.last = now;
            }
            Act::Stop => self.stop().await,
        }
        self.settle().await
    }

    async fn send(&mut self, number: usize, body: Vec<u8>) {
        let Some(port) = self.pipeline.as_ref().map(receiver) else {
            return;
        };
        if !self.case.async_send {
            let status = send(port, body).await;
            return self.sent(number, status);
        }
        self.sending
            .spawn(async move { (number, send(port, body).await) });
        if let Ok(Some(Ok((step, status)))) =
            tokio::time::timeout(HELD_UP, self.sending.join_next()).await
        {
            self.sent(step, status);
        }
    }

    fn sent(&mut self, step: usize, status: u16) {
        if status != 200 {
            self.answer
                .send_failures
                .insert(step.to_string(), status.into());
        }
    }

    async fn stop(&mut self) {
        if let Some(pipeline) = self.pipeline.take() {
            pipeline.stop(PATIENCE).await;
        }
    }

    /// Moves the clock to `at` seconds, each whole second on its own.
    async fn move_to(&mut self, at: f64) -> Result<(), Failed> {
        #[allow(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "milliseconds of a few seconds"
        )]
        let target = ZERO + (at * 1000.0).round() as u64 * (SECOND / 1000);
        loop {
            let now = self.clock.unix();
            let next = ((now / SECOND + 1) * SECOND).min(target);
            if next <= now {
                return Ok(());
            }
            self.clock.advance(next - now);
            self.settle().await?;
        }
    }

    /// Waits until nothing happens any more at this moment of the clock.
    async fn settle(&mut self) -> Result<(), Failed> {
        let Some(pipeline) = &self.pipeline else {
            return Ok(());
        };
        let end = Instant::now() + PATIENCE;
        while !pipeline.is_settled() {
            if let Readiness::Failed(why) = pipeline.readiness() {
                return Err(("crashed", why));
            }
            if Instant::now() > end {
                return Err(("stalled", "it never comes to rest".to_owned()));
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    }

    async fn scrape(&self) -> BTreeMap<String, i64> {
        let Some(metrics) = self.pipeline.as_ref().map(Pipeline::metrics) else {
            return BTreeMap::new();
        };
        let page = AbortOnDropHandle::new(tokio::task::spawn_blocking(move || {
            metrics.render(tailwater::admin::Format::Prometheus)
        }));
        counters::read(&page.await.unwrap())
    }
}

fn receiver(pipeline: &Pipeline) -> u16 {
    pipeline.addresses()[0].1.port()
}
