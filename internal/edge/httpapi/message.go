package httpapi

import (
	"context"
	"net/http"
	"net/url"

	"muster/api"
	"muster/internal/edge/auth"
	"muster/internal/engine/view"
	"muster/internal/fleet"
)

// messageIn reads what the caller wrote about the change. Requests that only read have no message, nor do those of
// callers without a role: somebody without a token, or with an enrol key, would write free text into the audit.
func messageIn(r *http.Request, who auth.Principal) (string, error) {
	values := r.Header.Values(api.MessageHeader)
	if len(values) == 0 || !isWrite(r.Method) || who.Role == "" {
		return "", nil
	}
	text, err := url.PathUnescape(values[0])
	if err != nil || len(values) > 1 {
		return "", requestf(api.MessageHeader, "the header %s is one line of percent-encoded UTF-8 text, once",
			api.MessageHeader)
	}
	return text, fleet.CheckMessage(text)
}

// isWrite reports whether requests with a method may change something.
func isWrite(method string) bool { return method != http.MethodGet && method != http.MethodHead }

// titles returns how the caller sees the titles of changes: devices by label, and nothing about devices outside of the
// caller's part of the fleet.
func (s *base) titles(ctx context.Context) (func(title string) string, error) {
	registry, err := s.Registry.Registry(ctx)
	if err != nil {
		return nil, err
	}
	if fleet.ScopeIn(ctx).Whole() {
		return func(title string) string { return named(registry, title) }, nil
	}
	return func(title string) string { return view.PartOfTitle(title, registry) }, nil
}
