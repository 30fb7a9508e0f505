//! Apache Kafka itself: one node in a directory of its own, on free ports, stopped with the test.

use crate::jars;
use crate::support::ports;
use crate::support::wait::{until, until_async};
use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;
use tokio::time::{Instant, sleep};

/// The one user, on the secure listener.
pub(crate) const USER: &str = "alice";
pub(crate) const PASSWORD: &str = "canary-password";

/// Two seconds on an idle machine; two Java compilers on a busy one.
const PATIENCE: Duration = Duration::from_secs(180);

const SETTINGS: &str = include_str!("server.properties");
const LOGGING: &str = include_str!("log4j2.properties");
/// Starts Java and ends it with the test, whatever ends the test: the pipe to this shell then closes. What is said before
/// keeps the directory.
const KEEPER: &str = "\"$@\" & echo $! > pid; keep=$(cat); kill -9 $(cat pid); [ -z \"$TIDY$keep\" ] || [ -n \"$keep\" ] || rm -rf \"$TIDY\"";

/// A broker. It keeps ports and data when it is killed and started again.
#[derive(Debug)]
pub(crate) struct Broker {
    directory: TempDir,
    port: u16,
    secure_port: u16,
    keeper: Option<Child>,
    /// It ends with the process, not with its value: then nobody else removes its directory.
    shared: bool,
}

impl Broker {
    /// A running broker without topics.
    pub(crate) async fn start() -> Self {
        Self::start_with("").await
    }

    /// The same with other settings: lines that overrule those of `server.properties`.
    pub(crate) async fn start_with(settings: &str) -> Self {
        let mut broker = Self::stopped(ports::free(), settings);
        broker.resume().await;
        broker
    }

    /// A node that is formatted and does not run.
    pub(crate) fn stopped(controller: u16, more: &str) -> Self {
        let directory = TempDir::new().unwrap();
        let (port, secure_port) = (ports::free(), ports::free());
        let (certificate, key) = certificate(&directory);
        let settings = SETTINGS
            .replace("PLAIN_PORT", &port.to_string())
            .replace("SECURE_PORT", &secure_port.to_string())
            .replace("CONTROLLER_PORT", &controller.to_string())
            .replace("PASSWORD", PASSWORD)
            .replace("CERTIFICATE", &certificate)
            .replace("=KEY", &format!("={key}"))
            .replace("DATA", directory.path().join("data").to_str().unwrap());
        let settings = format!("{settings}\n{more}\n");
        fs::write(directory.path().join("server.properties"), settings).unwrap();
        fs::write(directory.path().join("log4j2.properties"), LOGGING).unwrap();
        let broker = Self {
            directory,
            port,
            secure_port,
            keeper: None,
            shared: false,
        };
        broker.format();
        broker
    }

    /// For the whole process.
    pub(crate) fn share(mut self) -> Self {
        self.shared = true;
        self
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// TLS with a user.
    pub(crate) fn secure_address(&self) -> String {
        format!("127.0.0.1:{}", self.secure_port)
    }

    /// The certificate's authority: itself.
    pub(crate) fn ca_file(&self) -> String {
        self.directory.path().join("ca.pem").display().to_string()
    }

    fn java(&self) -> Command {
        let jars = jars::directory().join("*");
        let mut command = Command::new("sh");
        command.current_dir(self.directory.path());
        command.args(["-c", KEEPER, "sh", "java", "-cp"]).arg(jars);
        command.args(["-Xms128m", "-Xmx256m", "-XX:+UseSerialGC"]);
        command.args(["-XX:TieredStopAtLevel=1", "-Djava.awt.headless=true"]);
        command.arg("-Dlog4j2.configurationFile=log4j2.properties");
        command.stdin(Stdio::piped());
        command
    }

    fn format(&self) {
        let mut command = Command::new("java");
        command.current_dir(self.directory.path());
        command.arg("-cp").arg(jars::directory().join("*"));
        command.arg("-Dlog4j2.configurationFile=log4j2.properties");
        command.args(["kafka.tools.StorageTool", "format"]);
        command.args(["-t", "MkU3OEVBNTcwNTJENDM2Qg", "-c", "server.properties"]);
        for mechanism in ["SCRAM-SHA-256", "SCRAM-SHA-512"] {
            let user = format!("{mechanism}=[name={USER},password={PASSWORD}]");
            command.args(["--add-scram", &user]);
        }
        let output = command
            .output()
            .expect("Java 17 is needed to run Apache Kafka");
        let printed = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{printed}{errors}");
    }

    /// Starts it (again) and waits until it answers.
    pub(crate) async fn resume(&mut self) {
        self.spawn();
        self.answers(1).await;
    }

    /// Starts it (again).
    pub(crate) fn spawn(&mut self) {
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.directory.path().join("broker.log"))
            .unwrap();
        let tidy = self.shared.then(|| self.directory.path());
        let keeper = self
            .java()
            .env("TIDY", tidy.unwrap_or(Path::new("")))
            .args(["kafka.Kafka", "server.properties"])
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .expect("Java 17 is needed to run Apache Kafka");
        self.keeper = Some(keeper);
    }

    /// Waits until it knows of so many brokers.
    pub(crate) async fn answers(&self, brokers: usize) {
        let (admin, end) = (self.admin(), Instant::now() + PATIENCE);
        loop {
            let metadata = admin.inner().fetch_metadata(None, Duration::from_secs(1));
            if metadata.is_ok_and(|metadata| metadata.brokers().len() >= brokers) {
                break;
            }
            assert!(Instant::now() < end, "Apache Kafka does not answer");
            sleep(Duration::from_millis(50)).await;
        }
    }

    pub(crate) fn runs(&self) -> bool {
        self.keeper.is_some()
    }

    /// `kill -9`.
    pub(crate) fn kill(&mut self) {
        if let Some(mut keeper) = self.keeper.take() {
            if let Some(mut stdin) = keeper.stdin.take() {
                stdin.write_all(b"keep").unwrap();
            }
            keeper.wait().unwrap();
        }
    }

    /// A tool of Apache Kafka, that must succeed.
    pub(crate) fn tool(&self, arguments: &[&str]) {
        let mut command = Command::new("java");
        command.current_dir(self.directory.path());
        command.arg("-cp").arg(jars::directory().join("*"));
        command.args([
            "-XX:TieredStopAtLevel=1",
            "-Dlog4j2.configurationFile=log4j2.properties",
        ]);
        let output = command.args(arguments).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{printed}{errors}");
    }

    /// SIGSTOP and SIGCONT: it hangs, and goes on.
    pub(crate) fn signal(&self, signal: Signal) {
        let pid = fs::read_to_string(self.directory.path().join("pid")).unwrap();
        let pid = Pid::from_raw(pid.trim().parse().unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    pub(crate) fn admin(&self) -> AdminClient<DefaultClientContext> {
        let mut config = ClientConfig::new();
        config.set("bootstrap.servers", self.address());
        config.create().unwrap()
    }

    /// Makes a topic.
    pub(crate) async fn topic(&self, name: &str, partitions: i32, settings: &[(&str, &str)]) {
        let mut topic = NewTopic::new(name, partitions, TopicReplication::Fixed(1));
        for (key, value) in settings {
            topic = topic.set(key, value);
        }
        let admin = self.admin();
        until_async("the topic is made", async || {
            let made = admin.create_topics([&topic], &AdminOptions::new()).await;
            made.is_ok_and(|made| made.iter().all(Result::is_ok))
        })
        .await;
        // The controller makes it; that the broker shows it comes after.
        until("the broker shows the topic", || {
            let seen = admin
                .inner()
                .fetch_metadata(Some(name), Duration::from_secs(10));
            seen.is_ok_and(|seen| {
                let topic = seen.topics().iter().find(|topic| topic.name() == name);
                topic.is_some_and(|topic| {
                    let led = topic.partitions().iter().filter(|one| one.leader() >= 0);
                    led.count() as i32 == partitions
                })
            })
        })
        .await;
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            let log = fs::read_to_string(self.directory.path().join("broker.log"));
            eprintln!("--- log of Apache Kafka\n{}", log.unwrap_or_default());
        }
    }
}

/// A certificate for 127.0.0.1 and its key, each on one line as Java's properties want them.
fn certificate(directory: &TempDir) -> (String, String) {
    let names = ["127.0.0.1".to_owned()];
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    fs::write(directory.path().join("ca.pem"), &certificate).unwrap();
    let line = |pem: &str| pem.trim_end().replace("\r\n", "\n").replace('\n', "\\n");
    (line(&certificate), line(&key))
}
