package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"muster/api"
)

// tracer prints the requests of a command and their answers. It shows no headers, and masks values in bodies whose
// names may hold secrets.
type tracer struct {
	next http.RoundTripper
	to   io.Writer
}

const (
	masked        = "[masked]"
	maxTracedBody = 64 << 10 // bytes of a body that are shown
)

// RoundTrip sends a request and prints what went to and fro.
func (t tracer) RoundTrip(r *http.Request) (*http.Response, error) {
	fmt.Fprintf(t.to, "> %s %s\n", r.Method, shownURL(r.URL))
	if r.Body != nil {
		text, err := io.ReadAll(r.Body)
		_ = r.Body.Close()
		if err != nil {
			return nil, err
		}
		r = r.Clone(r.Context())
		r.Body = io.NopCloser(bytes.NewReader(text))
		t.body(">", text)
	}
	began := time.Now()
	answer, err := t.next.RoundTrip(r)
	if err != nil {
		fmt.Fprintf(t.to, "< no answer: %v\n", err)
		return nil, err
	}
	fmt.Fprintf(t.to, "< %s, after %s\n", answer.Status, time.Since(began).Round(time.Millisecond))
	if strings.HasPrefix(answer.Header.Get("Content-Type"), api.EventStream) {
		return answer, nil
	}
	text, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	answer.Body = io.NopCloser(bytes.NewReader(text))
	if err != nil {
		answer.Body = io.NopCloser(io.MultiReader(bytes.NewReader(text), failing{err}))
	}
	t.body("<", text)
	return answer, nil
}

// failing is a reader that fails.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// body prints a JSON body with secrets masked, and only the size of any other body.
func (t tracer) body(mark string, text []byte) {
	if len(bytes.TrimSpace(text)) == 0 {
		return
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if len(text) > maxTracedBody || decoder.Decode(&value) != nil {
		fmt.Fprintf(t.to, "%s (%d bytes)\n", mark, len(text))
		return
	}
	shown, err := json.MarshalIndent(withoutSecrets(value), mark+" ", "  ")
	if err != nil {
		return
	}
	fmt.Fprintf(t.to, "%s %s\n", mark, printableLines(string(shown)))
}

// mayHoldSecrets are the names whose values are never shown, and parts of such names. Texts of templates may hold a
// password in clear; links and codes log in.
var (
	mayHoldSecrets  = []string{"key", "value", "link", "url", "code", "template", "text", "pin"}
	holdSecretsPart = []string{"apikey", "password", "token", "secret", "passphrase", "credential", "cookie", "proof"}
)

func isSecretName(name string) bool {
	name = strings.ToLower(name)
	return slices.Contains(mayHoldSecrets, name) ||
		slices.ContainsFunc(holdSecretsPart, func(part string) bool { return strings.Contains(name, part) })
}

func withoutSecrets(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, member := range v {
			if isSecretName(name) && isText(member) {
				v[name] = masked
				continue
			}
			v[name] = withoutSecrets(member)
		}
	case []any:
		for i := range v {
			v[i] = withoutSecrets(v[i])
		}
	}
	return value
}

func shownURL(at *url.URL) string {
	shown := *at
	shown.User = nil
	query := shown.Query()
	for name := range query {
		if isSecretName(name) && name != "key" { // GET why takes a key of the configuration
			query.Set(name, masked)
		}
	}
	shown.RawQuery = query.Encode()
	return shown.String()
}

func printableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = printable(line)
	}
	return strings.Join(lines, "\n")
}

// isText tells a text and a list of texts.
func isText(value any) bool {
	if list, ok := value.([]any); ok {
		return len(list) > 0 && isText(list[0])
	}
	_, ok := value.(string)
	return ok
}
