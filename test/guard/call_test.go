package guard_test

import (
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// client takes any certificate: the tests started the daemons themselves.
var client = &http.Client{Timeout: 30 * time.Second,
	Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}

// call asks the daemon with the key that it was registered with.
func (d target) call(method, path, body string) ([]byte, error) {
	request, err := http.NewRequest(method, d.url(path), strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("X-API-Key", d.key)
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s %s: %d %s", method, path, response.StatusCode, answer)
	}
	return answer, err
}

func (d target) must(t *testing.T, method, path, body string) []byte {
	t.Helper()
	answer, err := d.call(method, path, body)
	if err != nil {
		t.Fatalf("%s no longer answers to its key: %v", d.id.Short(), err)
	}
	return answer
}
