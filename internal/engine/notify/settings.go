package notify

import (
	"cmp"
	"time"

	"muster/internal/adapter/outbound"
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

	Channels []fleet.Channel // receivers that administrators named while the server ran
	Routes   []fleet.Route
	Silences []fleet.Silence
	Public   string // URL of the server for people; "": messages have no links

	// A webhook or mail server may be on this machine or one of its links, because the machine names it.
	LocalWebhooks, LocalMail, LocalChannels bool
	// Unsure means that receivers may be missing. The messages that wait for others are kept.
	Unsure bool
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

// Senders checks the settings and makes a sender for each receiver. refuse holds for webhooks and mail servers that are
// not to be on this machine; nil: all addresses are allowed.
func (o Settings) Senders(refuse outbound.RefuseIP) ([]Sender, error) {
	var all []Sender
	for _, url := range o.URLs {
		webhook, err := NewWebhook(url, o.Secret)
		if err != nil {
			return nil, err
		}
		if !o.LocalWebhooks {
			webhook.refuse(refuse)
		}
		all = append(all, webhook)
	}
	for _, to := range o.MailTo {
		mail, err := NewMail(o.mailTo(to, refuse))
		if err != nil {
			return nil, err
		}
		all = append(all, mail)
	}
	for _, channel := range o.Channels {
		sender, err := o.Sender(channel, refuse)
		if err != nil {
			return nil, err
		}
		all = append(all, sender)
	}
	return all, differentNames(all)
}

func (o Settings) mailTo(to string, refuse outbound.RefuseIP) MailOptions {
	options := MailOptions{To: to, From: o.MailFrom, Server: o.SMTP, User: o.SMTPUser, Password: o.SMTPPassword,
		TLS: o.SMTPTLS}
	if !o.LocalMail {
		options.Refuse = refuse
	}
	return options
}

func differentNames(senders []Sender) error {
	names := map[string]bool{}
	for _, sender := range senders {
		if names[sender.Name()] {
			return &fleet.Error{Code: fleet.CodeInvalid, During: "read the receivers of notifications",
				Message: "the receiver " + sender.Name() + " is there twice", Hint: "Give each receiver once."}
		}
		names[sender.Name()] = true
	}
	return nil
}
