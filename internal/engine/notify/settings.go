package notify

import (
	"cmp"
	"time"

	"muster/internal/fleet"
)

// Settings say who gets messages about problems.
type Settings struct {
	URLs   []string      // URLs of webhooks
	Secret fleet.Secret  // signs the messages to webhooks
	After  time.Duration // how long a problem lasts before it is announced; 0: DefaultAfter

	MailTo       []string // addresses that get mail
	MailFrom     string
	SMTP         string // HOST:PORT
	SMTPUser     string
	SMTPPassword fleet.Secret
	SMTPTLS      MailTLS
}

// How often the notifier asks for the current problems. A short Settings.After needs more frequent reports.
const (
	mostBetweenReports  = 15 * time.Second
	leastBetweenReports = 100 * time.Millisecond
)

// Times returns how long a problem lasts before it is announced, and the time between two reports.
func (o Settings) Times() (after, every time.Duration) {
	after = cmp.Or(o.After, DefaultAfter)
	return after, min(mostBetweenReports, max(after/4, leastBetweenReports))
}

// Senders checks the settings and makes a sender for each receiver.
func (o Settings) Senders() ([]Sender, error) {
	var all []Sender
	for _, url := range o.URLs {
		webhook, err := NewWebhook(url, o.Secret)
		if err != nil {
			return nil, err
		}
		all = append(all, webhook)
	}
	for _, to := range o.MailTo {
		mail, err := NewMail(MailOptions{
			To: to, From: o.MailFrom, Server: o.SMTP, User: o.SMTPUser, Password: o.SMTPPassword, TLS: o.SMTPTLS,
		})
		if err != nil {
			return nil, err
		}
		all = append(all, mail)
	}
	names := map[string]bool{}
	for _, sender := range all {
		if names[sender.Name()] {
			return nil, &fleet.Error{Code: fleet.CodeInvalid, During: "read the receivers of notifications",
				Message: "the receiver " + sender.Name() + " is there twice",
				Hint:    "Give each --notify-url and --notify-mail-to once."}
		}
		names[sender.Name()] = true
	}
	return all, nil
}
