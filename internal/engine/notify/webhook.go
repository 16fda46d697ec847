package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"muster/internal/adapter/outbound"
	"muster/internal/fleet"
)

// The headers of Standard Webhooks (standardwebhooks.com, v1). The signature covers "ID.TIMESTAMP.BODY".
const (
	HeaderID        = "Webhook-Id"
	HeaderTimestamp = "Webhook-Timestamp" // Unix time in seconds
	HeaderSignature = "Webhook-Signature" // "v1," and the HMAC-SHA256 in base64
)

const (
	webhookLimit   = 20 * time.Second
	maxReplyBytes  = 64 << 10
	maxReplyHeader = 64 << 10
	maxShownReply  = 200      // bytes of an answer that people are shown
	secretPrefix   = "whsec_" // prefix of a secret in base64
)

// Webhook sends messages by HTTP POST.
type Webhook struct {
	url     string
	name    string
	secret  []byte   // nil: messages are not signed
	secrets []string // texts of URL and secret, which no answer shows
	client  *http.Client
	now     func() time.Time
}

// NewWebhook makes a sender for a URL. With a secret it signs the messages. The key is the text of the secret, or,
// after the prefix "whsec_", the bytes that the rest encodes in base64.
func NewWebhook(address string, secret fleet.Secret) (*Webhook, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, wrongWebhook("a receiver is an https:// or http:// URL")
	}
	key, err := signingKey(secret)
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256([]byte(address))
	return &Webhook{
		url: address, name: fmt.Sprintf("%s#%x", u.Host, digest[:4]), secret: key, now: time.Now,
		secrets: secretsOf(u, secret.Reveal()),
		client: &http.Client{
			Timeout: webhookLimit,
			Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, MaxResponseHeaderBytes: maxReplyHeader,
				MaxConnsPerHost: sendersAtOnce, MaxIdleConnsPerHost: sendersAtOnce, IdleConnTimeout: time.Minute,
				DisableCompression: true},
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

func signingKey(secret fleet.Secret) ([]byte, error) {
	text, encoded := strings.CutPrefix(secret.Reveal(), secretPrefix)
	if !encoded {
		return []byte(text), nil
	}
	key, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(key) == 0 {
		return nil, wrongWebhook(`the secret begins with "whsec_", but what follows is not base64`)
	}
	return key, nil
}

func wrongWebhook(why string) error {
	return &fleet.Error{Code: fleet.CodeInvalid, During: "read the receivers of notifications", Message: why}
}

// refuse has the webhook send nothing to some addresses.
func (w *Webhook) refuse(refuse outbound.RefuseIP) {
	at, err := url.Parse(w.url)
	transport, ok := w.client.Transport.(*http.Transport)
	if err == nil && ok { // NewWebhook parsed the URL and made the transport.
		refuse.Protect(transport, at)
	}
}

// Name returns the host and a fingerprint of the URL. It leaves out path and query, which often contain a secret.
func (w *Webhook) Name() string { return w.name }

// Send posts the message.
func (w *Webhook) Send(ctx context.Context, m Message) error {
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	_, err = w.post(ctx, body, func(header http.Header) { w.sign(header, m.ID, body) })
	return err
}

// post sends a body, and returns the beginning of the answer.
func (w *Webhook) post(ctx context.Context, body []byte, set func(http.Header)) (said string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "muster")
	set(request.Header)
	answer, err := w.client.Do(request)
	if err != nil {
		return "", outbound.WithoutURL(err)
	}
	defer answer.Body.Close()
	// A body that was read to its end lets the connection be reused.
	text, _ := io.ReadAll(io.LimitReader(answer.Body, maxReplyBytes))
	said = w.said(text)
	return said, judge(answer, said, w.now())
}

// said returns the beginning of an answer in one line, without secrets.
func (w *Webhook) said(body []byte) string {
	text := outbound.WithoutSecrets(oneLine(strings.ToValidUTF8(string(body), "")), w.secrets)
	if len(text) > maxShownReply {
		text = strings.ToValidUTF8(text[:maxShownReply], "") + "…"
	}
	return strings.TrimSpace(text)
}

func (w *Webhook) sign(header http.Header, id string, body []byte) {
	stamp := strconv.FormatInt(w.now().Unix(), 10)
	header.Set(HeaderID, id)
	header.Set(HeaderTimestamp, stamp)
	if len(w.secret) == 0 {
		return
	}
	mac := hmac.New(sha256.New, w.secret)
	fmt.Fprintf(mac, "%s.%s.", id, stamp)
	mac.Write(body)
	header.Set(HeaderSignature, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
}

// judge says what an answer means: the receiver accepted the message (nil), refuses this message, or does not work.
func judge(answer *http.Response, said string, now time.Time) error {
	switch status := answer.StatusCode; {
	case status >= 200 && status < 300:
		return nil
	case status == http.StatusBadRequest, status == http.StatusConflict, status == http.StatusRequestEntityTooLarge,
		status == http.StatusUnprocessableEntity:
		return &RejectedError{Reason: fmt.Sprintf("it answers %d", status), Answer: said}
	case status >= 300 && status < 400:
		return fmt.Errorf("it answers %d, a redirect, which is not followed", status)
	default:
		err := &AnswerError{Reason: fmt.Sprintf("it answers %d", status), Answer: said}
		if after := outbound.RetryAfter(answer.Header, now); after > 0 {
			return &LaterError{After: after, Err: err}
		}
		return err
	}
}
