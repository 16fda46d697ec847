package api

// Sink is a place outside of Muster that gets what Muster records, and how far it is.
type Sink struct {
	Name    string   `json:"name" doc:"Lower-case letters, digits and hyphens"`
	Kind    string   `json:"kind" enum:"http,elasticsearch,syslog,otlp,file" doc:"http: JSON lines; elasticsearch: the bulk interface, also of OpenSearch; syslog: RFC 5424 over TCP or TLS; otlp: logs of OpenTelemetry over HTTP; file: JSON lines in the server's home folder"`
	Address string   `json:"address" doc:"URL, or tls://HOST:PORT or tcp://HOST:PORT of a syslog server; empty for a file"`
	Streams []string `json:"streams" nullable:"false" enum:"audit,problems,changes,sync" doc:"What it gets"`
	Index   string   `json:"index,omitzero" required:"false" doc:"Of Elasticsearch: the index or data stream"`
	Headers []string `json:"headers" nullable:"false" doc:"The names of the headers that are sent; their values are never shown"`
	SavedBy string   `json:"savedBy" doc:"The person or token"`
	SavedAt Time     `json:"savedAt" format:"date-time" doc:"When it was saved"`

	Sent    int64  `json:"sent" doc:"Entries that it took since it was added"`
	Waiting int64  `json:"waiting" doc:"Entries that it did not get yet; at most, since some may be of other streams"`
	Refused int64  `json:"refused" doc:"Entries that it refused: dead letters"`
	Lost    int64  `json:"lost" doc:"Entries that were deleted because of their age before it got them"`
	Trouble string `json:"trouble" doc:"Why nothing can be sent; empty where the last attempt succeeded"`
	Since   *Time  `json:"since" format:"date-time" nullable:"true" doc:"Since when; null where nothing is wrong"`
}

// PutSink is the body of a PUT of a sink.
type PutSink struct {
	Kind    *string           `json:"kind" enum:"http,elasticsearch,syslog,otlp,file" doc:"See Sink"`
	Address *string           `json:"address,omitempty" doc:"URL, or tls://HOST:PORT or tcp://HOST:PORT of a syslog server; none for a file"`
	Streams []string          `json:"streams,omitzero" required:"false" nullable:"false" enum:"audit,problems,changes,sync" doc:"None: all"`
	Index   *string           `json:"index,omitempty" doc:"Of Elasticsearch: the index or data stream; without it muster-events"`
	Headers map[string]string `json:"headers,omitzero" required:"false" doc:"Sent with each request, such as Authorization; left out, those that are stored stay as long as kind and address do"`
}

// ReplaySink is the body of a POST that sends to a sink again.
type ReplaySink struct {
	Since *Time `json:"since" format:"date-time" doc:"The first moment of what is sent again, as far as it is still kept"`
}

// SinkRefusal is an entry that a sink refused.
type SinkRefusal struct {
	Stream string `json:"stream" enum:"audit,problems,changes,sync" doc:"The stream of the entry"`
	Number int64  `json:"number" doc:"Of the entry in the audit or in the event log"`
	At     Time   `json:"at" format:"date-time" doc:"When it was refused"`
	Reason string `json:"reason" doc:"What the sink answered"`
}
