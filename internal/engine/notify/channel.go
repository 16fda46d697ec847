package notify

import (
	"net/url"
	"strings"

	"muster/internal/adapter/outbound"
	"muster/internal/fleet"
)

// channelSender sends the messages of a channel that an administrator named while the server ran.
type channelSender struct {
	Sender

	name string
}

// Name returns the name of the channel.
func (c channelSender) Name() string { return c.name }

// Sender checks a channel and makes its sender. refuse holds for channels too, as it does for the receivers of
// settings.
func (o Settings) Sender(c fleet.Channel, refuse outbound.RefuseIP) (Sender, error) {
	if c.Type == fleet.ChannelMail {
		mail, err := NewMail(o.mailTo(c.To, refuse))
		return channelSender{Sender: mail, name: c.Name}, err
	}
	address := c.URL.Reveal()
	form, isForm := forms[c.Type]
	if isForm && form.address != nil {
		address = form.address(address)
	}
	webhook, err := NewWebhook(address, c.Secret)
	if err != nil {
		return nil, err
	}
	if !o.LocalChannels {
		webhook.refuse(refuse)
	}
	if _, topic := ntfyTopic(c.URL.Reveal()); c.Type == fleet.ChannelNtfy && topic == "" {
		return nil, wrongWebhook("the URL of a channel of ntfy ends with the topic, for example https://ntfy.sh/TOPIC")
	}
	if !isForm {
		return channelSender{Sender: webhook, name: c.Name}, nil
	}
	service := &Service{webhook: webhook, form: form, url: c.URL.Reveal(), secret: c.Secret}
	return channelSender{Sender: service, name: c.Name}, nil
}

// secretsOf returns the texts of a URL that a receiver might repeat in its answer, and the secret.
func secretsOf(u *url.URL, secret string) (secrets []string) {
	add := func(text string) { secrets = append(secrets, text) }
	add(secret)
	add(u.RequestURI())
	for part := range strings.FieldsFuncSeq(u.EscapedPath()+"/"+u.RawQuery, func(r rune) bool {
		return r == '/' || r == '&' || r == '='
	}) {
		add(part)
	}
	if u.User != nil {
		password, _ := u.User.Password()
		add(password)
		add(u.User.Username())
	}
	return secrets
}
