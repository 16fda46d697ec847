package notify

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"muster/internal/adapter/outbound"
	"muster/internal/fleet"
)

// replace gives a running notifier other receivers, as SetReceivers does with senders of settings.
func (n *Notifier) replace(unsure bool, senders ...Sender) {
	n.mu.Lock()
	n.next = receivers{senders: senders, after: n.now.after, every: n.now.every, unsure: unsure}
	n.mu.Unlock()
	n.changed <- struct{}{}
	synctest.Wait()
}

func TestReceiversAreReplacedWhileTheServerRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := newSource(), newDisk()
		stays, leaves, comes := newReceiver("stays"), newReceiver("leaves"), newReceiver("comes")
		n, _ := start(t, Options{Source: s, Store: d})
		s.begin(Key{Device: deviceID("a"), Kind: fleet.WaitFailed})
		pass(20 * time.Minute)
		if len(d.announced()) != 0 {
			t.Fatalf("without receivers: %+v", d.announced())
		}
		n.replace(false, stays, leaves)
		stays.set(errors.New("down"))
		leaves.set(errors.New("down"))
		pass(11 * time.Minute)
		stays.set(nil)
		n.replace(false, stays, comes)
		pass(10 * time.Minute)
		first := "problem failed " + deviceID("a").Short()
		expect(t, stays.messages(), first)
		expect(t, comes.messages()) // It was named after the problem was told.
		if len(d.outbox["leaves"]) != 0 {
			t.Errorf("messages wait for a receiver that is gone: %+v", d.outbox["leaves"])
		}
		s.end(Key{Device: deviceID("a"), Kind: fleet.WaitFailed})
		pass(time.Minute)
		expect(t, stays.messages(), first, "resolved failed "+deviceID("a").Short())
		expect(t, comes.messages(), "resolved failed "+deviceID("a").Short())
		n.replace(false)
		if got := n.Receivers(); len(got) != 0 || len(n.Problems()) != 0 {
			t.Errorf("without receivers: %+v, %+v", got, n.Problems())
		}
	})
}

// A time that a problem had lasted began anew with each change of the receivers.
func TestAChangeOfReceiversDelaysNoMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d, r := newSource(), newDisk(), newReceiver("r")
		n, _ := start(t, Options{Source: s, Store: d, Senders: []Sender{r}})
		s.begin(Key{Device: deviceID("a"), Kind: fleet.WaitFailed})
		pass(9 * time.Minute)
		n.replace(false, r, newReceiver("other"))
		pass(90 * time.Second)
		expect(t, r.messages(), "problem failed "+deviceID("a").Short())
	})
}

// A person who damaged the settings had the messages deleted that waited for the receivers of the settings.
func TestWhileReceiversAreInDoubtNothingThatWaitsIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, d := newSource(), newDisk()
		lost, flag := newReceiver("lost"), newReceiver("flag")
		lost.set(errors.New("down"))
		n, _ := start(t, Options{Source: s, Store: d, Senders: []Sender{lost}})
		s.begin(Key{Device: deviceID("a"), Kind: fleet.WaitFailed})
		pass(11 * time.Minute)
		n.replace(true, flag)
		pass(time.Minute)
		if len(d.outbox["lost"]) != 1 {
			t.Fatalf("waiting: %+v", d.outbox)
		}
		lost.set(nil)
		n.replace(false, lost, flag)
		pass(6 * time.Minute)
		expect(t, lost.messages(), "problem failed "+deviceID("a").Short())
	})
}

func TestReceiversOfSettingsAreNotOnTheMachine(t *testing.T) {
	var asked []string
	refuse := outbound.RefuseIP(func(ip netip.Addr) string {
		asked = append(asked, ip.String())
		return "on loopback"
	})
	s := Settings{URLs: []string{"http://localhost:1/hook"}, MailTo: []string{"a@example.org"},
		MailFrom: "b@example.org", SMTP: "127.0.0.1:1"}
	senders, err := s.Senders(refuse)
	if err != nil {
		t.Fatal(err)
	}
	for _, sender := range senders {
		if err := Try(t.Context(), []Sender{sender}); !strings.Contains(fleet.Reason(err), "it is on loopback") {
			t.Errorf("%s: got %v", sender.Name(), err)
		}
	}
	if len(asked) < 2 {
		t.Errorf("asked about %v", asked)
	}
	s.LocalWebhooks, s.LocalMail = true, true
	if senders, err = s.Senders(refuse); err != nil {
		t.Fatal(err)
	}
	if err := Try(t.Context(), senders); err == nil || strings.Contains(err.Error(), "on loopback") {
		t.Errorf("what the machine names: got %v", err)
	}
}

func TestATrialNamesWhoDidNotAcceptIt(t *testing.T) {
	good, bad := newReceiver("good"), newReceiver("bad")
	bad.set(errors.New("it answers 500"))
	err := Try(context.Background(), []Sender{good, bad})
	if reason := fleet.Reason(err); !strings.Contains(reason, "bad: it answers 500") || strings.Contains(reason, "good") {
		t.Errorf("got %v", err)
	}
	if got := good.messages(); len(got) != 1 || got[0].Type != fleet.NoticeTrial || got[0].ID == "" {
		t.Errorf("got %+v", got)
	}
	if text := subject(good.messages()[0]); !strings.Contains(text, "Trial") {
		t.Errorf("mail: %q", text)
	}
}
