package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"muster/api"
	"muster/internal/fleet"
)

// serve is a server that answers by hand, and a client of it.
func serve(t *testing.T, answer http.HandlerFunc) *Client {
	t.Helper()
	srv := httptest.NewServer(answer)
	t.Cleanup(srv.Close)
	c, err := New(srv.URL+"/", "secret")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAProblemComesBackAsAnErrorWithItsMeaning(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", api.ProblemType)
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = fmt.Fprint(w, `{"type":"x","title":"t","status":422,"detail":"the text is no template","hint":"mend it",`+
			`"errors":[{"field":"template","line":3,"column":7,"message":"unexpected end"}],"traceback":"trace"}`)
	})
	_, err := c.CreateTemplate(t.Context(), api.PutTemplate{})
	var answer *Error
	if !errors.As(err, &answer) || answer.Status != http.StatusUnprocessableEntity {
		t.Fatalf("got %v", err)
	}
	var meaning *fleet.Error
	if !errors.As(err, &meaning) || meaning.Code != fleet.CodeInvalid || meaning.Hint != "mend it" ||
		meaning.Traceback != "trace" {
		t.Fatalf("got %+v", meaning)
	}
	if want := (fleet.Detail{Field: "template", Line: 3, Column: 7,
		Message: "unexpected end"}); len(meaning.Details) != 1 || meaning.Details[0] != want {
		t.Errorf("got %+v, want %+v", meaning.Details, want)
	}
	if want := "the text is no template; template line 3, column 7: unexpected end"; err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
}

func TestAnErrorNamesThePlaceOnce(t *testing.T) {
	for want, problem := range map[string]api.Problem{
		"got a colon (template line 3, column 7)": {Detail: "got a colon",
			Errors: []api.ProblemDetail{{Field: "template", Line: 3, Column: 7, Message: "got a colon"}}},
		"apiPort is a port number": {Detail: "apiPort is a port number",
			Errors: []api.ProblemDetail{{Field: "apiPort", Message: "apiPort is a port number"}}},
		"this is no device ID: too short": {Detail: "this is no device ID: too short",
			Errors: []api.ProblemDetail{{Location: "path.deviceID", Message: "too short"}}},
		"limit is a number (query.limit)": {Detail: "limit is a number",
			Errors: []api.ProblemDetail{{Location: "query.limit", Message: "limit is a number"}}},
		"the body lacks both; key is needed; op: missing": {Detail: "the body lacks both",
			Errors: []api.ProblemDetail{{Field: "key", Message: "key is needed"}, {Field: "op", Message: "missing"}}},
		"Not Found": {},
	} {
		if got := (&Error{Status: http.StatusNotFound, Problem: problem}).Error(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestAnswersOfOtherServersAreToldApart(t *testing.T) {
	for name, one := range map[string]struct {
		answer http.HandlerFunc
		want   fleet.Code
	}{
		"a proxy's page": {func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", http.StatusBadGateway) },
			fleet.CodeUnavailable},
		"a page": {func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "<html>") },
			fleet.CodeInternal},
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, fleet.CodeInternal},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := serve(t, one.answer).Device(t.Context(), "x")
			var e *fleet.Error
			if !errors.As(err, &e) || e.Code != one.want || e.Hint == "" {
				t.Errorf("got %v, want the code %s and a hint", err, one.want)
			}
		})
	}
}

func TestNoServer(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	c, err := New(srv.URL, "secret")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Ready(t.Context()); fleet.CodeOf(err) != fleet.CodeUnavailable {
		t.Errorf("got %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.Ready(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the context's error", err)
	}
	for _, address := range []string{"", "127.0.0.1:2525", "ftp://host", "http://", "http://a b"} {
		if _, err := New(address, ""); fleet.CodeOf(err) != fleet.CodeInvalid {
			t.Errorf("%q: got %v", address, err)
		}
	}
}

func TestPagesAreFollowedOnTheSamePathOnly(t *testing.T) {
	var asked []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.RequestURI())
		switch r.URL.Query().Get("after") {
		case "":
			w.Header().Set("Link", `<https://evil.example/api/v1/other?after=b&limit=2>; rel="next"`)
			_, _ = fmt.Fprint(w, `["a","b"]`)
		default:
			_, _ = fmt.Fprint(w, `["c"]`)
		}
	})
	got, err := c.Tags(t.Context(), List{Page: 2, Search: "x y"})
	if err != nil || !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("got %v, %v", got, err)
	}
	if want := []string{"/api/v1/tags?limit=2&q=x+y", "/api/v1/tags?after=b&limit=2"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %v, want %v", asked, want)
	}
}

func TestAServerThatLeadsInCirclesIsLeft(t *testing.T) {
	times := 0
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		times++
		w.Header().Set("Link", `<`+r.URL.RequestURI()+`>; rel="next"`)
		_, _ = fmt.Fprint(w, `["a"]`)
	})
	if got, err := c.Tags(t.Context(), List{Page: 1}); err != nil || times > 2 {
		t.Errorf("got %v, %v after %d requests", got, err, times)
	}
}

func TestSegmentsAreEncoded(t *testing.T) {
	for segment, want := range map[string]string{
		"a/b": "a%2Fb", "a b": "a%20b", "100%": "100%25", ".": "%2E", "..": "%2E%2E", "a.b": "a.b", "ü": "%C3%BC",
		"a?b#c": "a%3Fb%23c",
	} {
		if got := path("tags", segment); got != prefix+"/tags/"+want {
			t.Errorf("%q: got %s, want %s", segment, got, want)
		}
	}
}

func TestWarningsOfAnswersAreTold(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set(api.WarningHeader, `the label was "B\u00fcro"`)
		_, _ = fmt.Fprint(w, `{}`)
	})
	var told []string
	c.OnWarning(func(text string) { told = append(told, text) })
	if _, _, err := c.PutDevice(t.Context(), "x", api.PutDevice{}); err != nil {
		t.Fatal(err)
	}
	if want := []string{`the label was "Büro"`}; !slices.Equal(told, want) {
		t.Errorf("got %q, want %q", told, want)
	}
}
