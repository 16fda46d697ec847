package sink

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"muster/internal/adapter/outbound"
	"muster/internal/fleet"
)

const (
	maxReply       = 4 << 20
	maxReplyHeader = 64 << 10
)

// newSender makes the sender for a sink.
func newSender(sink fleet.Sink, o Options) (sender, error) {
	switch sink.Kind {
	case fleet.SinkFile:
		return &file{path: filepath.Join(o.Folder, sink.Name+".jsonl"), limit: fileLimit}, nil
	case fleet.SinkSyslog:
		return newSyslog(sink, o.Refuse.Dialer())
	case fleet.SinkElastic:
		to, err := newPoster(sink, o, "_bulk")
		return &elastic{to, sink.Index}, err
	case fleet.SinkOTLP:
		to, err := newPoster(sink, o, "v1/logs")
		return &otlp{to}, err
	case fleet.SinkHTTP:
		to, err := newPoster(sink, o, "")
		return &lines{to}, err
	}
	return nil, fleet.Invalidf("kind", "%q is no kind of sink", sink.Kind)
}

// poster sends bodies to one URL.
type poster struct {
	url     string
	headers http.Header
	client  *http.Client
	now     func() time.Time
}

// newPoster makes a poster for the sink's address. path is added unless the address ends with it; only an address
// without a path gets a path of several parts.
func newPoster(sink fleet.Sink, o Options, path string) (*poster, error) {
	at, err := url.Parse(sink.Address)
	if err != nil {
		return nil, err
	}
	if path != "" && !strings.HasSuffix(at.Path, path) &&
		(!strings.Contains(path, "/") || strings.Trim(at.Path, "/") == "") {
		at = at.JoinPath(path)
	}
	headers := http.Header{}
	for name, value := range sink.Headers {
		headers.Set(name, value.Reveal())
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, MaxResponseHeaderBytes: maxReplyHeader,
		IdleConnTimeout: time.Minute, ForceAttemptHTTP2: true}
	o.Refuse.Protect(transport, at)
	return &poster{url: at.String(), headers: headers, now: o.Now, client: &http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}, nil
}

func (p *poster) close() { p.client.CloseIdleConnections() }

// post sends a body and returns the answer's body, or what its status says.
func (p *poster) post(ctx context.Context, contentType string, body []byte) ([]byte, error) {
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	if _, err := zip.Write(body); err != nil {
		return nil, err
	}
	if err := zip.Close(); err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url, &packed)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", contentType)
	request.Header.Set("User-Agent", "muster")
	for name, values := range p.headers {
		request.Header[name] = values
	}
	request.Header.Set("Content-Encoding", "gzip")
	answer, err := p.client.Do(request)
	if err != nil {
		return nil, explained(outbound.WithoutURL(err))
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxReply))
	if err := p.judge(answer, text); err != nil {
		return nil, err
	}
	return text, err
}

// explained adds to an address that is refused how it is allowed.
func explained(err error) error {
	var refused *outbound.RefusedError
	if errors.As(err, &refused) {
		return fmt.Errorf("%w. `muster serve --notify-allow-local` allows it", refused)
	}
	return err
}

// judge says what an answer means: taken (nil), not taken as it is (batchError), or a sink that does not work.
func (p *poster) judge(answer *http.Response, body []byte) error {
	err := fmt.Errorf("it answers %d%s", answer.StatusCode, p.excerpt(body))
	switch status := answer.StatusCode; {
	case status >= 200 && status < 300:
		return nil
	case status == http.StatusBadRequest, status == http.StatusRequestEntityTooLarge,
		status == http.StatusUnprocessableEntity:
		return &batchError{err}
	case status >= 300 && status < 400:
		return fmt.Errorf("it answers %d, a redirect, which is not followed", status)
	}
	if after := outbound.RetryAfter(answer.Header, p.now()); after > 0 {
		return &laterError{after, err}
	}
	return err
}

// excerpt is the beginning of an answer, on one line and without what the headers hold.
func (p *poster) excerpt(body []byte) string {
	var secrets []string
	for _, values := range p.headers {
		secrets = append(secrets, strings.Fields(strings.Join(values, " "))...)
	}
	body = []byte(outbound.WithoutSecrets(string(body), secrets))
	text := strings.Join(strings.Fields(strings.ToValidUTF8(string(body[:min(len(body), 300)]), "")), " ")
	if text == "" {
		return ""
	}
	return ": " + text
}

// lines sends JSON lines.
type lines struct{ *poster }

func (l *lines) send(ctx context.Context, records []record) ([]refusal, error) {
	_, err := l.post(ctx, "application/x-ndjson", jsonLines(records))
	return nil, err
}

func jsonLines(records []record) []byte {
	var body bytes.Buffer
	for _, r := range records {
		body.Write(r.json)
		body.WriteByte('\n')
	}
	return body.Bytes()
}

// elastic sends to the bulk interface of Elasticsearch and OpenSearch. Each document is created under its own ID, so
// that one which is sent again is there once.
type elastic struct {
	*poster
	index string
}

// bulkAnswer is the answer to a bulk request, as far as it is read.
type bulkAnswer struct {
	Errors bool
	Items  []map[string]struct {
		Status int
		Error  json.RawMessage
	}
}

func (e *elastic) send(ctx context.Context, records []record) (refused []refusal, err error) {
	var body bytes.Buffer
	for _, r := range records {
		action := map[string]map[string]string{"create": {"_index": e.index, "_id": r.id}}
		if err := json.NewEncoder(&body).Encode(action); err != nil {
			return nil, err
		}
		body.Write(r.json)
		body.WriteByte('\n')
	}
	text, err := e.post(ctx, "application/x-ndjson", body.Bytes())
	if err != nil {
		return nil, err
	}
	var answer bulkAnswer
	if err := json.Unmarshal(text, &answer); err != nil || len(answer.Items) != len(records) {
		return nil, fmt.Errorf("its answer names %d of %d documents: it is no Elasticsearch, or the address is wrong",
			len(answer.Items), len(records))
	}
	for i, item := range answer.Items {
		for _, of := range item {
			if of.Status >= 200 && of.Status < 300 || of.Status == http.StatusConflict {
				continue // 409: it was there already
			}
			switch of.Status {
			case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
				return nil, fmt.Errorf("it answers %d%s", of.Status, e.excerpt(of.Error))
			}
			refused = append(refused, refusal{at: i, again: of.Status == http.StatusTooManyRequests || of.Status >= 500,
				why: fmt.Errorf("it answers %d%s", of.Status, e.excerpt(of.Error))})
		}
	}
	return refused, nil
}

// otlp sends logs of OpenTelemetry as JSON (OTLP/HTTP 1.x).
type otlp struct{ *poster }

type otlpValue struct {
	StringValue string `json:"stringValue"`
}

type otlpAttribute struct {
	Key   string    `json:"key"`
	Value otlpValue `json:"value"`
}

type otlpRecord struct {
	TimeUnixNano   string          `json:"timeUnixNano"`
	SeverityNumber int             `json:"severityNumber"`
	SeverityText   string          `json:"severityText"`
	Body           otlpValue       `json:"body"`
	Attributes     []otlpAttribute `json:"attributes"`
}

func (o *otlp) send(ctx context.Context, records []record) ([]refusal, error) {
	severity := map[level]int{levelInfo: 9, levelWarning: 13} // INFO and WARN of the data model
	logs := make([]otlpRecord, len(records))
	for i, r := range records {
		logs[i] = otlpRecord{TimeUnixNano: strconv.FormatInt(r.at.UnixNano(), 10), SeverityNumber: severity[r.level],
			SeverityText: strings.ToUpper(r.level.String()), Body: otlpValue{r.text},
			Attributes: []otlpAttribute{attribute("event.id", r.id), attribute("muster.stream", string(r.stream)),
				attribute("muster.document", string(r.json))}}
	}
	host, _ := os.Hostname()
	body, err := json.Marshal(map[string]any{"resourceLogs": []any{map[string]any{
		"resource": map[string]any{"attributes": []otlpAttribute{attribute("service.name", "muster"),
			attribute("host.name", cmp.Or(host, "unknown"))}},
		"scopeLogs": []any{map[string]any{"scope": map[string]string{"name": "muster"}, "logRecords": logs}},
	}}})
	if err != nil {
		return nil, err
	}
	text, err := o.post(ctx, "application/json", body)
	if err != nil {
		return nil, err
	}
	var answer struct {
		PartialSuccess struct {
			RejectedLogRecords json.Number
			ErrorMessage       string
		}
	}
	_ = json.Unmarshal(text, &answer) // a receiver may answer nothing
	if n, _ := answer.PartialSuccess.RejectedLogRecords.Int64(); n > 0 {
		return o.partly(len(records), int(min(n, int64(len(records)))), answer.PartialSuccess.ErrorMessage), nil
	}
	return nil, nil
}

// partly names as many records as were refused together with others that were taken. None may be sent again. The answer
// does not say which they are, so the last ones are named.
func (o *otlp) partly(sent, refused int, message string) (all []refusal) {
	why := fmt.Errorf("it refused %d of %d records and does not say which%s", refused, sent, o.excerpt([]byte(message)))
	for i := range refused {
		all = append(all, refusal{at: sent - refused + i, why: why})
	}
	return all
}

func attribute(key, value string) otlpAttribute { return otlpAttribute{key, otlpValue{value}} }
