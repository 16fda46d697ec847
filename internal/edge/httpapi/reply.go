package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"muster/api"
)

// reply is an answer that is ready to be sent.
type reply struct {
	status   int // 0: 200
	body     []byte
	etag     string // "": made from the body
	location string
	link     string
	warning  string
	reveals  string                    // device whose API key the body shows, for the audit; "": none
	uncached bool                      // the body shows an API key, and what is to be in the audit is there
	secret   bool                      // the answer may show a secret: nobody stores it, and it is not compressed
	stream   func(http.ResponseWriter) // writes everything itself
	document Document                  // sent instead of the body, and has this length; nil: the body is sent
	length   int64
	release  func() // gives back the memory that the answer takes; nil: it takes little
	cookies  []*http.Cookie
}

// Memory is the memory that answers, plans and templates take together. Work that needs more than there is ends with an
// error of Take, and is called again.
type Memory interface {
	Do(ctx context.Context, work func(context.Context) error) error
	// Hold is Do, but what the work took is kept until release is called.
	Hold(ctx context.Context, work func(context.Context) error) (release func(), err error)
	Take(ctx context.Context, bytes int64) error
}

// held makes an answer that may be large, once there is memory for it. It is kept until the answer is written. The
// work may be called more than once.
func (s *base) held(ctx context.Context, work func(context.Context) (reply, error)) (out reply, err error) {
	if s.Memory == nil {
		return work(ctx)
	}
	release, err := s.Memory.Hold(ctx, func(ctx context.Context) error {
		out, err = work(ctx)
		return err
	})
	out.release = release
	return out, err
}

// take takes memory for the work of a context; see Memory.
func (s *base) take(ctx context.Context, bytes int64) error {
	if s.Memory == nil {
		return nil
	}
	return s.Memory.Take(ctx, bytes)
}

// within does work that may be large, once there is memory for it. It may be called more than once.
func (s *base) within(ctx context.Context, work func(context.Context) error) error {
	if s.Memory == nil {
		return work(ctx)
	}
	return s.Memory.Do(ctx, work)
}

// show is a 200 with v as JSON.
func show(v any) (reply, error) {
	body, err := encode(v)
	return reply{body: body}, err
}

// showCreated is show, with 201 and Location when something new came of the request.
func showCreated(v any, created bool, location string) (reply, error) {
	out, err := show(v)
	if created {
		out.status, out.location = http.StatusCreated, location
	}
	return out, err
}

// nothing is a 204.
func nothing(err error) (reply, error) { return reply{status: http.StatusNoContent}, err }

// encode writes JSON as the contract wants it: no list is null, "<" stays "<". Bytes of daemons that are not UTF-8 are
// replaced, not refused. The same value gives the same bytes, and so the same ETag.
func encode(v any) ([]byte, error) {
	body, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
	if err != nil {
		return nil, err
	}
	return append(body, '\n'), nil
}

// etagOf is the strong validator of a body.
func etagOf(body []byte) string {
	sum := sha256.Sum256(body)
	return etagFrom(sum[:])
}

func etagFrom(sum []byte) string { return `"` + base64.RawURLEncoding.EncodeToString(sum[:18]) + `"` }

// unchanged tells whether the client has this very reply.
func (out reply) unchanged(r *http.Request) bool {
	return out.etag != "" && reads(r) && anyMatch(r.Header.Values("If-None-Match"), out.etag, weakly)
}

func (out reply) write(w http.ResponseWriter, r *http.Request) {
	for _, cookie := range out.cookies {
		http.SetCookie(w, cookie)
	}
	compress := out.describe(w.Header(), r)
	if out.unchanged(r) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	out.describeContent(w.Header(), compress)
	if out.status == 0 {
		out.status = http.StatusOK
	}
	w.WriteHeader(out.status)
	switch { // a client that is gone needs no answer
	case r.Method == http.MethodHead:
	case compress:
		out.writeCompressed(w)
	case out.document != nil:
		_ = out.document.buffered(w)
	default:
		_, _ = w.Write(out.body)
	}
}

// describe sets the headers that a 304 has as well, and reports whether the client gets the answer compressed.
func (out reply) describe(header http.Header, r *http.Request) (compress bool) {
	if out.compressible(r) {
		header.Add("Vary", "Accept-Encoding")
		compress = acceptsGzip(r)
	}
	switch {
	case compress:
		header.Set("ETag", compressedETag(out.etag))
	case out.etag != "":
		header.Set("ETag", out.etag)
	}
	if out.link != "" {
		header.Set("Link", out.link)
	}
	if out.location != "" {
		header.Set("Location", out.location)
	}
	if out.warning != "" {
		header.Set(api.WarningHeader, out.warning)
	}
	return compress
}

// describeContent sets the headers about the content, if there is any.
func (out reply) describeContent(header http.Header, compressed bool) {
	if out.body == nil && out.document == nil {
		return
	}
	header.Set("Content-Type", "application/json")
	if compressed {
		header.Set("Content-Encoding", "gzip")
	} else {
		header.Set("Content-Length", strconv.FormatInt(out.size(), 10))
	}
}

func reads(r *http.Request) bool { return r.Method == http.MethodGet || r.Method == http.MethodHead }
