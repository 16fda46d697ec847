package notify

import (
	"testing"

	"muster/internal/fleet"
)

func TestReceiversOfTheSettingsAreChecked(t *testing.T) {
	for name, o := range map[string]Settings{
		"no URL":          {URLs: []string{"mail.example.org"}},
		"the same twice":  {URLs: []string{"https://example.org/hook", "https://example.org/hook"}},
		"mail, no sender": {MailTo: []string{"a@example.org"}, SMTP: "mail.example.org"},
		"mail, no server": {MailTo: []string{"a@example.org"}, MailFrom: "b@example.org"},
	} {
		if _, err := o.Senders(nil); fleet.CodeOf(err) != fleet.CodeInvalid {
			t.Errorf("%s: got %v", name, err)
		}
	}
	good := Settings{URLs: []string{"https://example.org/a", "https://example.org/b"},
		MailTo: []string{"a@example.org", "c@example.org"}, MailFrom: "b@example.org", SMTP: "mail.example.org"}
	if all, err := good.Senders(nil); err != nil || len(all) != 4 {
		t.Errorf("got %d receivers, %v", len(all), err)
	}
}
