// Package client calls Muster's REST API. The command line and the end-to-end tests use it, so it stays honest. It
// knows HTTP and the wire types; what an answer means is the caller's business.
//
// Every method makes one request, a list by pages several, and ends with its context. Each reads a list page by page,
// and Watch gives events for as long as the context lasts. Device IDs may be in any
// spelling that Syncthing takes; tags, folder IDs and names are given as they are and encoded here. What fails is
//
//   - an *Error, when the server answered with another status than 2xx: Status is that, and Problem says what is wrong
//     and what to do. 404: what the path names is not there. 403: the token's role may not do that. 409: it was done in
//     the meantime, or something else is in the way. 412: a Condition is not met. 422: the input is not valid.
//   - an *Unreachable, when no server could be reached, or one whose certificate is not trusted;
//   - a *BadAnswer, when the answer broke off (CodeUnavailable) or is not understood;
//   - the context's error, when that ended first.
//
// New gives a *BadAddress for a text that is no address. CodeOf tells them apart, and HintOf says what to do.
package client

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"muster/api"
	"muster/internal/fleet"
)

const (
	prefix = "/api/v1"

	// maxAnswer bounds what an answer may take of memory: a list of 10,000 templates of 1 KiB with room to spare.
	maxAnswer = 1 << 30

	defaultTimeout = 2 * time.Minute
)

// Client calls one server with one token. It may be used by several goroutines at once.
type Client struct {
	base      *url.URL
	token     string
	http      *http.Client
	onWarning func(text string)
	message   string
}

// OnWarning sets a function that is called with the warnings of answers to writes. Set it before the first call.
func (c *Client) OnWarning(tell func(text string)) { c.onWarning = tell }

// Message sets what the writes of this client are for. It becomes the title of what they change. Set it before the
// first call.
func (c *Client) Message(text string) { c.message = text }

// New makes a client of the server at an address like "http://127.0.0.1:2525", which may have a path before /api. An
// answer may take two minutes. A text that is not an address is an error; nothing is sent yet.
func New(server, token string) (*Client, error) {
	return NewWith(server, token, &http.Client{Timeout: defaultTimeout})
}

// NewWith is New over an HTTP client of the caller. It follows no redirects: the token is sent to the given address
// only.
func NewWith(server, token string, over *http.Client) (*Client, error) {
	base, err := url.Parse(strings.TrimRight(server, "/"))
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, badAddress(server)
	}
	own := *over
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &Client{base: base, token: token, http: &own}, nil
}

// Error is an answer of the server with another status than 2xx.
type Error struct {
	Status  int         // HTTP status
	Problem api.Problem // body of the answer; made up here for the answer of a proxy
}

func (e *Error) Error() string {
	text := e.Problem.Detail
	if text == "" {
		text = http.StatusText(e.Status)
	}
	for _, detail := range e.Problem.Errors {
		place := placeOf(detail)
		switch repeated := strings.Contains(text, detail.Message); {
		case repeated && strings.Contains(text, place): // the text has all of it already
		case repeated:
			text += " (" + place + ")"
		case strings.HasPrefix(detail.Message, place): // true for a blank place, too
			text += "; " + detail.Message
		default:
			text += "; " + place + ": " + detail.Message
		}
	}
	return text
}

// placeOf names the field and the line of a detail. It leaves out parts of the path, which the caller knows.
func placeOf(detail api.ProblemDetail) string {
	place := detail.Field
	if place == "" && !strings.HasPrefix(detail.Location, "path.") {
		place = detail.Location
	}
	if detail.Line > 0 {
		place = strings.TrimSpace(fmt.Sprintf("%s line %d, column %d", place, detail.Line, detail.Column))
	}
	return place
}

// Unwrap gives the error in the words of Muster's own packages. CodeOf gives its code to others.
func (e *Error) Unwrap() error {
	out := &fleet.Error{
		Code: codeOf(e.Status), Message: e.Problem.Detail, Hint: e.Problem.Hint, Traceback: e.Problem.Traceback,
		Allowable: e.Problem.AllowFailing,
	}
	if see := e.Problem.See; see != nil {
		out.See = fleet.Reference{Subject: fleet.Subject(see.Subject), ID: see.ID}
	}
	for _, d := range e.Problem.Errors {
		field := d.Field
		if field == "" {
			field = d.Location
		}
		out.Details = append(out.Details,
			fleet.Detail{Field: field, Line: d.Line, Column: d.Column, Message: d.Message})
	}
	return out
}

func codeOf(status int) fleet.Code {
	switch status {
	case http.StatusBadRequest, http.StatusUnsupportedMediaType:
		return fleet.CodeMalformed
	case http.StatusUnauthorized:
		return fleet.CodeUnauthorized
	case http.StatusForbidden:
		return fleet.CodeForbidden
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return fleet.CodeNotFound
	case http.StatusConflict:
		return fleet.CodeConflict
	case http.StatusPreconditionFailed:
		return fleet.CodePrecondition
	case http.StatusRequestEntityTooLarge:
		return fleet.CodeTooLarge
	case http.StatusUnprocessableEntity:
		return fleet.CodeInvalid
	case http.StatusTooManyRequests:
		return fleet.CodeTooMany
	case http.StatusServiceUnavailable, http.StatusBadGateway, http.StatusGatewayTimeout:
		return fleet.CodeUnavailable
	}
	return fleet.CodeInternal
}

// path joins decoded segments. A segment that is only dots is encoded too, or it would be taken for a relative path.
func path(segments ...string) string {
	var p strings.Builder
	p.WriteString(prefix)
	for _, segment := range segments {
		p.WriteByte('/')
		if strings.Trim(segment, ".") == "" {
			p.WriteString(strings.ReplaceAll(segment, ".", "%2E"))
			continue
		}
		p.WriteString(url.PathEscape(segment))
	}
	return p.String()
}

func number(n int64) string { return strconv.FormatInt(n, 10) }

// Condition is a header that limits when a write is done.
type Condition func(http.Header)

// IfMatch writes only if what is there still has this ETag; "*": if it is there at all. Otherwise the error is 412.
func IfMatch(etag string) Condition { return func(h http.Header) { h.Set("If-Match", etag) } }

// IfAbsent writes only if nothing is there. Otherwise the error is 412.
func IfAbsent() Condition { return func(h http.Header) { h.Set("If-None-Match", "*") } }

// answer is the status and the header of an answer.
type answer struct {
	status int
	header http.Header
}

// call does one request; into may be nil, or a *[]byte for the body as it is. at is a path with its query.
func (c *Client) call(ctx context.Context, method, at string, body, into any, conditions ...Condition) (answer,
	error) {
	var send io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return answer{}, fmt.Errorf("encode the request: %w", err)
		}
		send = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(ctx, method, c.base.String()+at, send)
	if err != nil {
		return answer{}, fmt.Errorf("make the request: %w", err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	if c.message != "" && method != http.MethodGet {
		r.Header.Set(api.MessageHeader, url.PathEscape(c.message))
	}
	for _, condition := range conditions {
		condition(r.Header)
	}
	resp, err := c.http.Do(r)
	if err != nil {
		return answer{}, c.unreachable(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if warning := resp.Header.Get(api.WarningHeader); warning != "" && c.onWarning != nil {
		if text, err := strconv.Unquote(`"` + strings.ReplaceAll(warning, `"`, `\"`) + `"`); err == nil {
			warning = text
		}
		c.onWarning(warning)
	}
	return answer{resp.StatusCode, resp.Header}, c.read(resp, into)
}

const sameVersion = "Is it a Muster server of this version?"

func (c *Client) read(resp *http.Response, into any) error {
	content, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return badAnswer(fleet.CodeUnavailable, "the server's answer broke off", "Try again.", err)
	}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return failed(resp, content)
	}
	if into == nil || len(content) == 0 {
		return nil
	}
	if text, raw := into.(*[]byte); raw {
		*text = content
		return nil
	}
	if err := json.Unmarshal(content, into); err != nil {
		return badAnswer(fleet.CodeInternal, "the server's answer is not understood", sameVersion, err)
	}
	return nil
}

// failed turns an answer into an error, also the answer of a proxy or another server, which has no problem document.
func failed(resp *http.Response, content []byte) error {
	e := &Error{Status: resp.StatusCode}
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil || media != api.ProblemType || json.Unmarshal(content, &e.Problem) != nil {
		e.Problem = api.Problem{
			Status: resp.StatusCode, Title: http.StatusText(resp.StatusCode),
			Detail: "the server answered " + resp.Status, Hint: "Is it a Muster server? Look at the address.",
		}
		// This is the text of net/http.
		if resp.StatusCode == http.StatusBadRequest &&
			bytes.Contains(content, []byte("HTTP request to an HTTPS server")) {
			e.Problem.Detail, e.Problem.Hint = "the server speaks TLS only",
				"Write https:// instead of http:// before its address."
		}
	}
	return e
}

// Unreachable is the error when no server answers, or one whose certificate is not trusted.
type Unreachable struct{ fault *fleet.Error }

func (e *Unreachable) Error() string { return e.fault.Error() }

// Hint says what to do next, for a person.
func (e *Unreachable) Hint() string { return e.fault.Hint }

// Unwrap gives the error in the words of Muster's own packages. CodeOf gives its code to others.
func (e *Unreachable) Unwrap() error { return e.fault }

func (c *Client) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var e *url.Error
	if errors.As(err, &e) {
		err = e.Err // Message has the address
	}
	out := &fleet.Error{
		Code: fleet.CodeUnavailable, Message: "no server answers at " + c.base.Redacted(),
		Hint: "`muster serve` starts one on this machine. Name another one with --server or MUSTER_SERVER.", Err: err,
	}
	var untrusted *tls.CertificateVerificationError
	var refused *fleet.Error
	switch {
	case errors.As(err, &refused): // the caller's check of the certificate failed
		return &Unreachable{refused}
	case errors.As(err, &untrusted):
		out.Message, out.Err = "the certificate of the server at "+c.base.Redacted()+" is not trusted", untrusted.Err
		out.Hint = fmt.Sprintf("Compare its fingerprint, %s, with what `muster serve` printed when it started. If it "+
			"is the same, give it to `muster login`, or `muster enroll`, as `--fingerprint %[1]s`; or name the "+
			"server's issuer with --ca FILE. If it is not, another server answers there: ask the administrator.",
			fleet.KeyFingerprint(untrusted.UnverifiedCertificates[0]))
	case errors.Is(err, http.ErrSchemeMismatch):
		out.Message, out.Hint = "the server at "+c.base.Redacted()+" does not speak TLS",
			"Write http:// instead of https:// if that is meant."
	}
	return &Unreachable{out}
}

// do makes a request whose answer has no body.
func (c *Client) do(ctx context.Context, method, at string, body any, conditions ...Condition) error {
	_, err := c.call(ctx, method, at, body, nil, conditions...)
	return err
}

func get[T any](ctx context.Context, c *Client, at string) (T, error) {
	var out T
	_, err := c.call(ctx, http.MethodGet, at, nil, &out)
	return out, err
}

func send[T any](ctx context.Context, c *Client, method, at string, body any, conditions ...Condition) (T, error) {
	var out T
	_, err := c.call(ctx, method, at, body, &out, conditions...)
	return out, err
}
