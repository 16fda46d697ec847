// Package signon_test logs people in through a certified OpenID Connect provider, which runs as a separate process.
//
//muster:needs daemons browser
package signon_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// provider is the process of the provider, started by the first test that asks for it.
var provider = sync.OnceValues(startProvider)

var stopProvider = func() {}

func TestMain(m *testing.M) {
	code := m.Run()
	stopProvider()
	os.Exit(code)
}

// startProvider gives the issuer.
func startProvider() (string, error) {
	if _, err := os.Stat("provider/node_modules/oidc-provider"); err != nil {
		return "", fmt.Errorf("the provider is not installed (%w): type `make need-test`", err)
	}
	cmd := exec.Command("node", "provider/provider.mjs")
	in, err := cmd.StdinPipe() // closed with this process, which ends the provider
	if err != nil {
		return "", err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return "", err
	}
	stopProvider = func() {
		_ = in.Close()
		_ = cmd.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	return strings.TrimSpace(line), err
}

// issuerOf is the issuer of the provider.
func issuerOf(t *testing.T) string {
	t.Helper()
	issuer, err := provider()
	if err != nil {
		t.Fatal(err)
	}
	return issuer
}

// claims are what the provider says of an account.
type claims map[string]any

// account makes an account of the provider, or changes it.
func account(t *testing.T, name string, says claims) {
	t.Helper()
	body, err := json.Marshal(says)
	if err != nil {
		t.Fatal(err)
	}
	putAtProvider(t, "/accounts/"+name, body)
}

func putAtProvider(t *testing.T, path string, body []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, issuerOf(t)+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusNoContent {
		t.Fatalf("got %d %s", resp.StatusCode, text)
	}
}
