package httpapi

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"muster/api"
	"muster/internal/engine/enrollment"
	"muster/internal/fleet"
)

// machine is the machine of a daemon: the device's certificate with its key.
type machine struct {
	id   fleet.DeviceID
	cert []byte
	key  crypto.Signer
}

func machineWith(t *testing.T, key crypto.Signer) machine {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now(),
		NotAfter: time.Now().AddDate(1, 0, 0)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return machine{fleet.DeviceIDOf(sha256.Sum256(der)), der, key}
}

func newMachine(t *testing.T) machine {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return machineWith(t, key)
}

// claim is the body of a claim that the machine signed.
func (m machine) claim(t *testing.T, purpose fleet.ClaimPurpose, c fleet.DeviceClaim) api.DeviceClaim {
	t.Helper()
	proof, err := fleet.SignStatement(m.cert, m.key, c.Statement(purpose))
	if err != nil {
		t.Fatal(err)
	}
	certificate := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: m.cert}))
	return api.DeviceClaim{Challenge: &c.Challenge, Certificate: &certificate, APIKey: new(c.APIKey.Reveal()),
		Signature: new(base64.StdEncoding.EncodeToString(proof.Signature)), APIPort: new(int64(c.APIPort)),
		APIAddress: c.Address, Label: &c.Label, Pin: &c.Pin}
}

func (w *world) challenge() string {
	w.t.Helper()
	var got api.Challenge
	w.into(&got, w.want(http.StatusOK, call{method: http.MethodPost, path: Prefix + "/enroll/challenge", token: "-"}))
	return got.Challenge
}

func (w *world) into(v any, body string) {
	w.t.Helper()
	if err := json.Unmarshal([]byte(body), v); err != nil {
		w.t.Fatalf("%v in %s", err, body)
	}
}

func (w *world) newKey(body string) api.NewEnrollKey {
	w.t.Helper()
	var made api.NewEnrollKey
	w.into(&made, w.want(http.StatusCreated, call{method: http.MethodPost, path: Prefix + "/enroll-keys", body: body}))
	return made
}

func text(v any) string {
	var b bytes.Buffer
	_ = json.NewEncoder(&b).Encode(v)
	return b.String()
}

func (w *world) arrive(id fleet.DeviceID, change func(*fleet.Arrival)) fleet.EnrollmentAnswer {
	w.t.Helper()
	a := fleet.Arrival{Device: id, Name: "laptop", System: "linux/amd64", Version: "v1", APIPort: 8484,
		Address: "192.0.2.7"}
	if change != nil {
		change(&a)
	}
	answer, err := w.enrollments.Admit(w.t.Context(), a)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer
}

func TestADeviceWaitsUntilAnAdminAccepts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if got := w.arrive(idA, nil); got.Status != fleet.EnrollmentWaiting || !strings.Contains(got.Hint, string(idA)) {
		t.Fatalf("got %+v", got)
	}
	var all []api.Enrollment
	w.into(&all, w.get(Prefix+"/enrollments"))
	if len(all) != 1 || all[0].DeviceID != string(idA) || all[0].Name != "laptop" || all[0].Address != "192.0.2.7" ||
		all[0].State != "waiting" || all[0].APIPort != 8484 {
		t.Fatalf("got %+v", all)
	}
	one := Prefix + "/enrollments/" + string(idA)
	w.problem(http.StatusUnprocessableEntity, call{method: http.MethodPost, path: one + "/accept",
		body: `{"tags":["a\tb"]}`})
	w.problem(http.StatusNotFound, call{method: http.MethodPost, path: Prefix + "/enrollments/" + string(idB) + "/accept",
		body: `{}`})
	got := w.want(http.StatusCreated, call{method: http.MethodPost, path: one + "/accept", body: `{"tags":["office"]}`})
	var device api.Device
	w.into(&device, got)
	if device.Label != "laptop" || device.APIAddress != "" || device.APIPort != 8484 || device.APIKey != "" {
		t.Errorf("got %s", got)
	}
	if tags := w.get(Prefix + "/devices/" + string(idA) + "/tags"); tags != `["office"]` {
		t.Errorf("got the tags %s", tags)
	}
	if got := w.arrive(idA, nil); got.Status != fleet.EnrollmentAccepted {
		t.Errorf("got %+v", got)
	}
	if got := w.get(Prefix + "/enrollments"); got != "[]" {
		t.Errorf("the accepted device asks still: %s", got)
	}
	// Muster has no API key of it yet: other fields can be changed all the same.
	w.put(Prefix+"/devices/"+string(idA), `{"label":"other","apiPort":8384}`)
	if got := w.get(Prefix + "/devices/" + string(idA) + "/tags"); got != `["office"]` {
		t.Errorf("got %s", got)
	}
}

func TestARejectedDeviceIsRefusedUntilItIsForgottenOrAccepted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key := w.newKey(`{"uses":5}`)
	withKey := func(a *fleet.Arrival) { a.Key = fleet.NewSecret(key.Key) }
	w.arrive(idA, nil)
	one := Prefix + "/enrollments/" + string(idA)
	w.want(http.StatusNoContent, call{method: http.MethodPost, path: one + "/reject"})
	for name, change := range map[string]func(*fleet.Arrival){"without": nil, "with": withKey} {
		if got := w.arrive(idA, change); got.Status != fleet.EnrollmentRefused || got.Hint == "" {
			t.Errorf("%s a key: got %+v", name, got)
		}
	}
	var all []api.Enrollment
	w.into(&all, w.get(Prefix+"/enrollments"))
	if len(all) != 1 || all[0].State != "rejected" || all[0].RejectedBy != "admin" || all[0].RejectedAt == nil {
		t.Fatalf("got %+v", all)
	}
	w.want(http.StatusNoContent, call{method: http.MethodDelete, path: one})
	w.problem(http.StatusNotFound, call{method: http.MethodDelete, path: one})
	if got := w.arrive(idA, nil); got.Status != fleet.EnrollmentWaiting {
		t.Errorf("a forgotten device: got %+v", got)
	}
	w.want(http.StatusNoContent, call{method: http.MethodPost, path: one + "/reject"})
	w.want(http.StatusCreated, call{method: http.MethodPost, path: one + "/accept", body: `{"label":"let in"}`})
	if got := w.arrive(idA, nil); got.Status != fleet.EnrollmentAccepted {
		t.Errorf("got %+v", got)
	}
}

func TestAKeyAdmitsAtOnceAndNotADeletedDeviceAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(Prefix+"/tags/office/protection", `{"protected":true}`)
	key := w.newKey(`{"tags":["office","b"],"uses":2}`)
	withKey := func(a *fleet.Arrival) { a.Key = fleet.NewSecret(key.Key) }
	if got := w.arrive(idA, withKey); got.Status != fleet.EnrollmentAccepted {
		t.Fatalf("got %+v", got)
	}
	if tags := w.get(Prefix + "/devices/" + string(idA) + "/tags"); tags != `["b","office"]` {
		t.Errorf("got %s", tags)
	}
	if audit := w.get(
		Prefix + "/audit?who=enroll-key%20" + key.ID,
	); !strings.Contains(
		audit,
		`"who":"enroll-key `+key.ID,
	) ||
		!strings.Contains(audit, "enrollment.accept") {
		t.Errorf("got %s", audit)
	}
	w.want(http.StatusNoContent, call{method: http.MethodDelete, path: Prefix + "/devices/" + string(idA)})
	if got := w.arrive(idA, withKey); got.Status != fleet.EnrollmentWaiting || !strings.Contains(got.Message, "deleted") {
		t.Errorf("a deleted device with its key: got %+v", got)
	}
	later := w.newKey(`{"uses":1}`)
	if got := w.arrive(idA, func(a *fleet.Arrival) { a.Key = fleet.NewSecret(later.Key) }); got.Status !=
		fleet.EnrollmentAccepted {
		t.Errorf("a key that was made after the deletion: got %+v", got)
	}
	for name, want := range map[string]string{later.Key: "used up", "nonsense": "not known"} {
		got := w.arrive(idC, func(a *fleet.Arrival) { a.Key = fleet.NewSecret(name) })
		if got.Status != fleet.EnrollmentRefused || !strings.Contains(got.Message, want) || got.Hint == "" {
			t.Errorf("got %+v, want %q", got, want)
		}
	}
}

func TestWaitingDevicesAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	from := func(address string) func(*fleet.Arrival) {
		return func(a *fleet.Arrival) { a.Address = address }
	}
	id := func(n int) fleet.DeviceID { return fleet.DeviceIDOf([32]byte{byte(n), byte(n >> 8), 7}) }
	for n := range enrollment.MaxWaitingPerAddress {
		w.arrive(id(n), from(fmt.Sprintf("2001:db8::%x", n)))
	}
	if got := w.arrive(id(5000), from("2001:db8::ffff")); got.Status != fleet.EnrollmentRefused || got.Hint == "" {
		t.Errorf("one more of an IPv6 network: got %+v", got)
	}
	if got := w.arrive(id(1), from("2001:db8::1")); got.Status != fleet.EnrollmentWaiting {
		t.Errorf("one that waits already: got %+v", got)
	}
	w.enrollments.Left(id(3))
	if got := w.arrive(id(5000), from("2001:db8::ffff")); got.Status != fleet.EnrollmentWaiting {
		t.Errorf("one in the place of one that left: got %+v", got)
	}
	for n := enrollment.MaxWaitingPerAddress; n < enrollment.MaxWaiting; n++ {
		w.arrive(id(n), from(fmt.Sprintf("192.0.%d.%d", n>>8, n&255)))
	}
	if got := w.arrive(id(6000), from("198.51.100.1")); got.Status != fleet.EnrollmentRefused {
		t.Errorf("one more in all: got %+v", got)
	}
	var counts api.EnrollmentCounts
	w.into(&counts, w.get(Prefix+"/enrollments/counts"))
	if counts.Waiting != enrollment.MaxWaiting || counts.TurnedAway != 2 || counts.Most != enrollment.MaxWaiting {
		t.Errorf("got %+v", counts)
	}
	key := w.newKey(`{}`)
	if got := w.arrive(id(6000), func(a *fleet.Arrival) { a.Key = fleet.NewSecret(key.Key) }); got.Status !=
		fleet.EnrollmentAccepted {
		t.Errorf("a key while the list is full: got %+v", got)
	}
	var page []api.Enrollment
	w.into(&page, w.get(Prefix+"/enrollments?limit=3"))
	resp := w.do(call{method: http.MethodGet, path: Prefix + "/enrollments?limit=3"})
	next, _, _ := strings.Cut(strings.TrimPrefix(resp.Header.Get("Link"), "<"), ">")
	var beyond []api.Enrollment
	w.into(&beyond, w.get(next))
	if len(page) != 3 || len(beyond) != 3 || slices.Contains(page, beyond[0]) {
		t.Errorf("got %v, then %v", page, beyond)
	}
}

func TestWhatAnAgentTellsIsShortPlainText(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.arrive(idA, func(a *fleet.Arrival) {
		a.Name, a.System, a.APIPort = "a\x1b[31m\u202e\n\xffb"+strings.Repeat("ä", 5000), "\x00", -7
	})
	var all []api.Enrollment
	w.into(&all, w.get(Prefix+"/enrollments"))
	if len(all) != 1 || !strings.HasPrefix(all[0].Name, "a[31mbä") || len(all[0].Name) > 256 || all[0].System != "" ||
		all[0].APIPort != fleet.DefaultAPIPort {
		t.Errorf("got %+v", all)
	}
}

func TestAnEnrolKeyIsShownOnceAndKeptNowhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := w.newKey(`{"tags":["office"],"uses":50,"expiresInS":86400}`)
	if id, ok := fleet.EnrollKeyID(made.Key); !ok || id != made.ID || made.Uses != 50 || made.State != "usable" {
		t.Fatalf("got %+v", made)
	}
	w.arrive(idA, func(a *fleet.Arrival) { a.Key = fleet.NewSecret(made.Key) })
	w.arrive(idB, func(a *fleet.Arrival) { a.Key = fleet.NewSecret(made.Key + "x") })
	shown := w.get(Prefix+"/enroll-keys") + w.get(Prefix+"/audit") + w.get(Prefix+"/enrollments") + w.log.String()
	if strings.Contains(shown, made.Key[len(fleet.EnrollKeyPrefix)+8:]) {
		t.Errorf("the key is in %s", shown)
	}
	if keys := w.get(Prefix + "/enroll-keys"); !strings.Contains(keys, `"used":1`) {
		t.Errorf("got %s", keys)
	}
	for _, body := range []string{`{"uses":0}`, `{"uses":100001}`, `{"expiresInS":0}`, `{"expiresInS":99999999}`,
		`{"tags":["\t"]}`} {
		w.problem(http.StatusUnprocessableEntity, call{method: http.MethodPost, path: Prefix + "/enroll-keys", body: body})
	}
	one := Prefix + "/enroll-keys/" + made.ID
	w.want(http.StatusNoContent, call{method: http.MethodDelete, path: one})
	w.problem(http.StatusNotFound, call{method: http.MethodDelete, path: one})
}

func TestAKeyRegistersADeviceThatProvesItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := w.newKey(`{"tags":["office"],"uses":9}`)
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ecKey, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	pin := "sha256:" + strings.Repeat("ab", 32)
	for kind, m := range map[string]machine{"Ed25519": newMachine(t), "RSA": machineWith(t, rsaKey),
		"ECDSA": machineWith(t, ecKey)} {
		body := text(m.claim(t, fleet.ClaimEnroll, fleet.DeviceClaim{Challenge: w.challenge(), Label: kind,
			APIKey: fleet.NewSecret(key), APIPort: 8385, Pin: pin}))
		got := w.want(http.StatusCreated, call{method: http.MethodPost, path: Prefix + "/enroll", token: made.Key,
			body: body})
		var device api.Device
		w.into(&device, got)
		if device.DeviceID != string(m.id) || device.APIAddress != "192.0.2.1" || device.APIKey != fleet.MaskedAPIKey ||
			device.Label != kind || strings.Contains(got, key) {
			t.Errorf("got %s", got)
		}
		var settings api.DeviceSettings
		w.into(&settings, w.get(Prefix+"/devices/"+string(m.id)+"/settings"))
		if settings.Pin != pin || w.get(Prefix+"/devices/"+string(m.id)+"/tags") != `["office"]` {
			t.Errorf("got %+v", settings)
		}
	}
}

func TestAnEnrolKeyChangedARegisteredDevice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := w.newKey(`{"tags":["office"],"uses":9}`)
	m := newMachine(t)
	w.device(m.id, "mine")
	before := w.get(Prefix + "/devices/" + string(m.id))
	w.problem(http.StatusConflict, call{method: http.MethodPost, path: Prefix + "/enroll", token: made.Key,
		body: text(m.claim(t, fleet.ClaimEnroll, fleet.DeviceClaim{Challenge: w.challenge(), Label: "theirs",
			APIKey: fleet.NewSecret("theirs"), APIPort: 1}))})
	if got := w.arrive(m.id, func(a *fleet.Arrival) { a.Key = fleet.NewSecret(made.Key) }); got.Status !=
		fleet.EnrollmentAccepted {
		t.Errorf("got %+v", got)
	}
	if after := w.get(Prefix + "/devices/" + string(m.id)); after != before {
		t.Errorf("got %s, want %s", after, before)
	}
	if tags := w.get(Prefix + "/devices/" + string(m.id) + "/tags"); tags != `[]` {
		t.Errorf("got %s", tags)
	}
	if keys := w.get(Prefix + "/enroll-keys"); !strings.Contains(keys, `"used":0`) {
		t.Errorf("a use was counted: %s", keys)
	}
}

func TestAClaimIsWorthNothingWithoutTheKeyOfTheDevice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := w.newKey(`{"uses":9}`)
	m, other := newMachine(t), newMachine(t)
	claim := fleet.DeviceClaim{Challenge: w.challenge(), Label: "l", APIKey: fleet.NewSecret(key), APIPort: 8384}
	send := func(status int, body api.DeviceClaim) api.Problem {
		t.Helper()
		return w.problem(status, call{method: http.MethodPost, path: Prefix + "/enroll", token: made.Key, body: text(body)})
	}
	forged := m
	forged.key = other.key
	send(http.StatusForbidden, forged.claim(t, fleet.ClaimEnroll, claim))
	send(http.StatusForbidden, m.claim(t, fleet.ClaimRenew, claim))
	for name, change := range map[string]func(*api.DeviceClaim){
		"label":     func(c *api.DeviceClaim) { c.Label = new("x") },
		"key":       func(c *api.DeviceClaim) { c.APIKey = new("x") },
		"port":      func(c *api.DeviceClaim) { c.APIPort = new(int64(9)) },
		"address":   func(c *api.DeviceClaim) { c.APIAddress = new("192.0.2.9") },
		"pin":       func(c *api.DeviceClaim) { c.Pin = new("sha256:" + strings.Repeat("ab", 32)) },
		"challenge": func(c *api.DeviceClaim) { c.Challenge = new(w.challenge()) },
	} {
		signed := m.claim(t, fleet.ClaimEnroll, claim)
		if change(&signed); !strings.Contains(send(http.StatusForbidden, signed).Detail, "signature") {
			t.Errorf("another %s was not noticed as that", name)
		}
	}
	for _, challenge := range []string{"", "x", base64.RawURLEncoding.EncodeToString(make([]byte, 56))} {
		claim.Challenge = challenge
		send(http.StatusForbidden, m.claim(t, fleet.ClaimEnroll, claim))
	}
	for _, address := range []string{"127.0.0.1", "169.254.169.254", "::1", "localhost", "daemon.example", "0.0.0.0"} {
		claim.Challenge, claim.Address = w.challenge(), &address
		send(http.StatusUnprocessableEntity, m.claim(t, fleet.ClaimEnroll, claim))
	}
	if devices := w.get(Prefix + "/devices"); devices != "[]" {
		t.Errorf("got %s", devices)
	}
}

func TestARegisteredDeviceRenewsItsOwnPin(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	m := newMachine(t)
	claim := func() api.DeviceClaim {
		return m.claim(t, fleet.ClaimRenew, fleet.DeviceClaim{Challenge: w.challenge(), APIKey: fleet.NewSecret("newer"),
			APIPort: 8386, Pin: "sha256:" + strings.Repeat("cd", 32)})
	}
	renew := call{method: http.MethodPost, path: Prefix + "/enroll/renew", token: "-", body: text(claim())}
	w.problem(http.StatusNotFound, renew)
	w.put(Prefix+"/devices/"+string(m.id), `{"apiKey":"older","label":"mine","apiAddress":"192.0.2.55"}`)
	w.put(Prefix+"/devices/"+string(m.id)+"/settings", `{"pin":"sha256:`+strings.Repeat("ab", 32)+`"}`)
	if got := w.want(http.StatusOK, renew); strings.Contains(got, "newer") {
		t.Errorf("the API key is in %s", got)
	}
	var device api.Device
	w.into(&device, w.get(Prefix+"/devices/"+string(m.id)))
	if device.APIKey != "newer" || device.APIPort != 8386 || device.Label != "mine" || device.APIAddress != "192.0.2.55" {
		t.Errorf("got %+v", device)
	}
	if settings := w.get(Prefix + "/devices/" + string(m.id) + "/settings"); !strings.Contains(settings, "cdcdcd") {
		t.Errorf("got %s", settings)
	}
	if audit := w.get(Prefix + "/audit?subject=" + string(m.id)); !strings.Contains(audit, "device.renew") ||
		strings.Contains(audit, "newer") {
		t.Errorf("got %s", audit)
	}
}

// One address could try as many enrol keys as it liked.
func TestEnrolKeysWereGuessedWithoutALimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	guess := func(n int) call {
		return call{method: http.MethodPost, path: Prefix + "/enroll", body: "{}",
			token: fmt.Sprintf("%s%052d", fleet.EnrollKeyPrefix, n)}
	}
	w.problem(http.StatusUnauthorized, guess(0))
	status := 0
	for n := 1; n < 500 && status != http.StatusTooManyRequests; n++ {
		status = w.do(guess(n)).StatusCode
	}
	if status != http.StatusTooManyRequests {
		t.Errorf("got %d after 500 guesses", status)
	}
	w.want(http.StatusOK, call{method: http.MethodGet, path: Prefix + "/devices"}) // a token is no enrol key
}
