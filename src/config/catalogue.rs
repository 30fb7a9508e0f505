//! Component types: ours, and those of the Collector that we do not have, with what to do instead.
//!
//! The names are those of the Collector's core and contrib distributions (v0.161); a name that is in neither list is
//! most likely a typing error.

/// A section of the config.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Section {
    Receivers,
    Processors,
    Exporters,
    Extensions,
}

impl Section {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Receivers => "receivers",
            Self::Processors => "processors",
            Self::Exporters => "exporters",
            Self::Extensions => "extensions",
        }
    }

    pub(crate) fn one(self) -> &'static str {
        match self {
            Self::Receivers => "receiver",
            Self::Processors => "processor",
            Self::Exporters => "exporter",
            Self::Extensions => "extension",
        }
    }

    /// Types that we have.
    pub(crate) fn ours(self) -> &'static [&'static str] {
        match self {
            Self::Receivers => &["otlp", "kafka"],
            Self::Processors => &[
                "tail_sampling",
                "batch",
                "memory_limiter",
                "filter",
                "attributes",
                "resource",
                "probabilistic_sampler",
            ],
            Self::Exporters => &[
                "otlp",
                "otlp_grpc",
                "otlphttp",
                "otlp_http",
                "kafka",
                "file",
                "debug",
            ],
            Self::Extensions => &["health_check", "pprof", "zpages", "file_storage"],
        }
    }

    fn foreign(self) -> &'static [(&'static str, Option<&'static str>)] {
        match self {
            Self::Receivers => RECEIVERS,
            Self::Processors => PROCESSORS,
            Self::Exporters => EXPORTERS,
            Self::Extensions => EXTENSIONS,
        }
    }
}

/// Whether the Collector has the type; if so, what to do instead, when there is more to say than what we have.
pub(crate) fn known(section: Section, kind: &str) -> Option<Option<&'static str>> {
    section
        .foreign()
        .iter()
        .find(|(name, _)| *name == kind)
        .map(|(_, help)| *help)
}

const CONVERT: Option<&str> = Some(
    "put a Collector with this receiver in front and send its spans here with its `otlp` exporter",
);
const BESIDE: Option<&str> = Some("keep it in a Collector in front of this process, or behind it");
const BEHIND: Option<&str> =
    Some("send to a Collector with this exporter, through `otlp` or `otlphttp`");
const SENDER_AUTH: Option<&str> =
    Some("put the credentials into the exporter's `headers`, or use `tls` certificates");

const RECEIVERS: &[(&str, Option<&str>)] = &[
    ("jaeger", CONVERT),
    ("zipkin", CONVERT),
    ("opencensus", CONVERT),
    ("otelarrow", CONVERT),
    ("otlpjsonfile", CONVERT),
    ("otlp_json_file", CONVERT),
    ("datadog", CONVERT),
    ("skywalking", CONVERT),
    ("sapm", CONVERT),
    ("splunk_hec", CONVERT),
    ("awsxray", CONVERT),
    ("pulsar", CONVERT),
    ("solace", CONVERT),
    ("faro", CONVERT),
    ("googlecloudpubsub", CONVERT),
    ("azureeventhub", CONVERT),
    ("cloudfoundry", CONVERT),
    ("file", CONVERT),
    ("nop", None),
    ("hostmetrics", BESIDE),
    ("prometheus", BESIDE),
    ("filelog", BESIDE),
    ("fluentforward", BESIDE),
    ("statsd", BESIDE),
    ("syslog", BESIDE),
    ("k8s_cluster", BESIDE),
    ("k8s_events", BESIDE),
    ("kubeletstats", BESIDE),
    ("docker_stats", BESIDE),
    ("journald", BESIDE),
    ("receiver_creator", BESIDE),
];

const PROCESSORS: &[(&str, Option<&str>)] = &[
    (
        "groupbytrace",
        Some("leave it out: `tail_sampling` groups by trace itself"),
    ),
    ("resourcedetection", BESIDE),
    ("resource_detection", BESIDE),
    ("transform", BESIDE),
    ("span", BESIDE),
    ("k8sattributes", BESIDE),
    ("k8s_attributes", BESIDE),
    ("redaction", BESIDE),
    ("groupbyattrs", BESIDE),
    (
        "routing",
        Some("use several pipelines, each with its own `tail_sampling`"),
    ),
    ("cumulativetodelta", BESIDE),
    ("deltatocumulative", BESIDE),
    ("deltatorate", BESIDE),
    ("metricstransform", BESIDE),
    ("metricsgeneration", BESIDE),
    ("interval", BESIDE),
    ("isolationforest", BESIDE),
    ("geoip", BESIDE),
    ("logdedup", BESIDE),
    ("log_dedup", BESIDE),
    ("schema", BESIDE),
    ("spanmetrics", BESIDE),
    ("servicegraph", BESIDE),
    ("sumologic", BESIDE),
    ("coralogix", BESIDE),
    ("unroll", BESIDE),
    ("lookup", BESIDE),
    ("adaptive_sampling", BESIDE),
    ("logstransform", BESIDE),
    ("remotetap", BESIDE),
];

const EXPORTERS: &[(&str, Option<&str>)] = &[
    ("logging", Some("the Collector removed it; use `debug`")),
    (
        "jaeger",
        Some("Jaeger takes OTLP: use `otlp` with its port 4317"),
    ),
    ("zipkin", BEHIND),
    ("opencensus", BEHIND),
    ("otelarrow", BEHIND),
    (
        "loadbalancing",
        Some("not needed in front of this process on one machine; `otlp` sends to one endpoint"),
    ),
    (
        "load_balancing",
        Some("not needed in front of this process on one machine; `otlp` sends to one endpoint"),
    ),
    ("prometheus", BEHIND),
    ("prometheusremotewrite", BEHIND),
    ("datadog", BEHIND),
    ("elasticsearch", BEHIND),
    ("opensearch", BEHIND),
    ("clickhouse", BEHIND),
    ("splunk_hec", BEHIND),
    ("signalfx", BEHIND),
    ("sapm", BEHIND),
    ("awsxray", BEHIND),
    ("awss3", BEHIND),
    ("awsemf", BEHIND),
    ("awskinesis", BEHIND),
    ("awscloudwatchlogs", BEHIND),
    ("azuremonitor", BEHIND),
    ("azureblob", BEHIND),
    ("azuredataexplorer", BEHIND),
    ("googlecloud", BEHIND),
    ("googlecloudpubsub", BEHIND),
    ("googlecloudstorage", BEHIND),
    ("pulsar", BEHIND),
    ("rabbitmq", BEHIND),
    ("honeycombmarker", BEHIND),
    ("logzio", BEHIND),
    ("coralogix", BEHIND),
    ("dataset", BEHIND),
    ("tinybird", BEHIND),
    ("influxdb", BEHIND),
    ("cassandra", BEHIND),
    ("doris", BEHIND),
    ("loki", BEHIND),
    ("sentry", BEHIND),
    ("stef", BEHIND),
    ("syslog", BEHIND),
    (
        "nop",
        Some("use `debug`, or `file` with the path `/dev/null`"),
    ),
];

const EXTENSIONS: &[(&str, Option<&str>)] = &[
    ("healthcheckv2", Some("use `health_check`")),
    ("basicauth", SENDER_AUTH),
    ("basic_auth", SENDER_AUTH),
    ("bearertokenauth", SENDER_AUTH),
    ("bearer_token_auth", SENDER_AUTH),
    ("headers_setter", SENDER_AUTH),
    ("oauth2client", SENDER_AUTH),
    ("oidc", SENDER_AUTH),
    ("sigv4auth", SENDER_AUTH),
    ("googleclientauth", SENDER_AUTH),
    ("azureauth", SENDER_AUTH),
    ("asapclient", SENDER_AUTH),
    ("ack", None),
    ("opamp", None),
    (
        "db_storage",
        Some("leave it out: what waits for an exporter is in the log of `tail_sampling.buffer`"),
    ),
    (
        "redis_storage",
        Some("leave it out: what waits for an exporter is in the log of `tail_sampling.buffer`"),
    ),
    (
        "memory_limiter",
        Some("use the `memory_limiter` processor or `tail_sampling.memory`"),
    ),
    (
        "memory_ballast",
        Some("leave it out: there is no garbage collector"),
    ),
    ("jaegerremotesampling", None),
    ("remotetap", None),
    ("host_observer", None),
    ("docker_observer", None),
    ("k8s_observer", None),
    ("ecs_observer", None),
    ("k8s_leader_elector", None),
    ("http_forwarder", None),
    ("otlp_encoding", None),
    ("json_log_encoding", None),
    ("text_encoding", None),
    ("zipkin_encoding", None),
];
