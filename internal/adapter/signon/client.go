package signon

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net/http"
	"time"

	"muster/internal/fleet"
)

const (
	askLimit  = 10 * time.Second // limit for one request to the provider and its whole answer
	maxAnswer = 1 << 20          // bytes
	maxHeader = 64 << 10         // bytes
)

// newClient makes an HTTP client for the provider. It does not follow redirects.
func newClient(roots string) (*http.Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxResponseHeaderBytes = maxHeader
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if roots != "" {
		all, err := x509.SystemCertPool()
		if err != nil {
			all = x509.NewCertPool()
		}
		if !all.AppendCertsFromPEM([]byte(roots)) {
			return nil, &fleet.Error{Code: fleet.CodeInvalid, Message: "--oidc-ca holds no certificate",
				Hint: "Give a file with the certificate of the provider's issuer in PEM."}
		}
		transport.TLSClientConfig.RootCAs = all
	}
	return &http.Client{Timeout: askLimit, Transport: bounded{transport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}, nil
}

// bounded limits the size of answers.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		resp.Body = &boundedBody{ReadCloser: resp.Body, left: maxAnswer}
	}
	return resp, err
}

type boundedBody struct {
	io.ReadCloser
	left int
}

var errTooLong = errors.New("the answer of the provider is longer than 1 MiB")

func (b *boundedBody) Read(p []byte) (n int, err error) {
	if b.left == 0 {
		return 0, errTooLong
	}
	n, err = b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
