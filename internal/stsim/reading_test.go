package stsim

import (
	"crypto/tls"
	"io"
	"net/http"
	"testing"

	"muster/internal/core/stconfig"
)

func TestAConfigurationIsReadWhenItsReaderGoesOn(t *testing.T) {
	farm, err := New(Options{Folders: -1, Quiet: true, Network: 203})
	if err == nil {
		err = farm.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer farm.Close()
	d := farm.Daemon(0)
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	get := func(path string) {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.URL()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-API-Key", d.APIKey())
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if _, err := io.Copy(io.Discard, response.Body); err != nil {
			t.Fatal(err)
		}
	}
	want := func(when string, read bool) {
		t.Helper()
		if d.IsRead() != read {
			t.Errorf("%s it counts as read: %v", when, !read)
		}
	}
	want("before a reader came", false)
	get("/rest/config")
	want("before the reader goes on", false)
	get("/rest/system/ping")
	want("after its next request", true)
	if err := d.Edit(func(doc stconfig.Value) stconfig.Value {
		return doc.With("options", doc.Get("options").With("maxSendKbps", stconfig.Literal("7")))
	}); err != nil {
		t.Fatal(err)
	}
	want("after an edit", false)
	get("/rest/config")
	get("/rest/config")
	want("after it was read twice", true)
}
