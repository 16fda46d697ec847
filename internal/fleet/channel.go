package fleet

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
)

// DefaultChannel is the name of the receivers that flags and settings name. They get every message, unless a route
// names this channel.
const DefaultChannel = "default"

// ChannelType says in which form a channel gets messages.
type ChannelType string

const (
	ChannelWebhook ChannelType = "webhook" // Standard Webhooks
	ChannelMail    ChannelType = "mail"    // The mail server is that of the settings or flags.

	ChannelSlack        ChannelType = "slack"        // incoming webhooks of Slack, and what understands them
	ChannelTeams        ChannelType = "teams"        // a workflow of Microsoft Teams that takes a webhook
	ChannelDiscord      ChannelType = "discord"      // webhooks of Discord
	ChannelNtfy         ChannelType = "ntfy"         // The URL is that of a topic.
	ChannelPagerDuty    ChannelType = "pagerduty"    // Events API v2; the secret is the integration key
	ChannelAlertmanager ChannelType = "alertmanager" // API v2 of Prometheus' Alertmanager
)

// ChannelTypes lists all types of channels.
var ChannelTypes = []ChannelType{ChannelWebhook, ChannelMail, ChannelSlack, ChannelTeams, ChannelDiscord,
	ChannelNtfy, ChannelPagerDuty, ChannelAlertmanager}

// Channel is one receiver of messages, which an administrator named while the server ran.
type Channel struct {
	Name string
	Type ChannelType
	URL  Secret // Messages are posted to it. It often contains a token. Mail has no URL.
	To   string // the mail address
	// Secret signs the messages to a webhook. It is the integration key of PagerDuty, and the token that ntfy and
	// Alertmanager ask for.
	Secret Secret
	By     string // person or token that set it last
	At     time.Time
}

// Host returns the host of the URL, which contains no secret.
func (c Channel) Host() string {
	if u, err := url.Parse(c.URL.Reveal()); err == nil {
		return u.Host
	}
	return ""
}

const (
	maxChannels     = 50
	maxRoutes       = 100
	maxSilences     = 200
	maxNameBytes    = 64
	maxChannelBytes = 4 << 10 // A URL or secret has at most so many.
)

// Channels, routes and silences are stored as settings whose names begin like this.
const (
	channelPrefix = "channel/"
	routePrefix   = "route/"
	silencePrefix = "silence/"
)

// ChannelSetting returns the name of the setting that stores a channel.
func ChannelSetting(name string) SettingName { return channelPrefix + SettingName(name) }

// Act returns how the audit names that the setting was put or reset: "setting.reset" and the setting, or
// "channel.delete" and the channel.
func (n SettingName) Act(verb string) (what, subject string) {
	noun, name, isRule := strings.Cut(string(n), "/")
	switch {
	case !isRule:
		return "setting." + verb, string(n)
	case verb == "reset":
		verb = "delete"
	case noun+"/" == silencePrefix:
		verb = "create"
	}
	return noun + "." + verb, name
}

// ValidateRuleName checks the name of a channel or a route.
func ValidateRuleName(name string) error {
	valid := name != "" && len(name) <= maxNameBytes && !strings.ContainsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
	})
	if !valid {
		return Invalidf("name", "a name has 1 to %d of the characters a-z, 0-9 and -", maxNameBytes)
	}
	return nil
}

// Validate checks the form of a channel. Package notify checks whether messages can be sent to it.
func (c Channel) Validate() error {
	if err := ValidateRuleName(c.Name); err != nil {
		return err
	}
	if c.Name == DefaultChannel {
		return &Error{Code: CodeInvalid, Message: "the channel default is the receivers that flags and settings name",
			Hint: "Choose another name, or set notifyURLs: `muster setting set notifyURLs --file FILE`."}
	}
	if !slices.Contains(ChannelTypes, c.Type) {
		return InvalidWord("type", string(c.Type), fmt.Sprintf("there is no type of channel %q", c.Type),
			wordsOf(ChannelTypes))
	}
	if len(c.URL.Reveal()) > maxChannelBytes || len(c.Secret.Reveal()) > maxChannelBytes || len(c.To) > maxChannelBytes {
		return Invalidf("url", "a URL, a secret and an address have at most %d bytes", maxChannelBytes)
	}
	switch isMail := c.Type == ChannelMail; {
	case isMail && (!c.URL.IsZero() || !c.Secret.IsZero()):
		return Invalidf("url", "a channel of mail has an address and neither URL nor secret")
	case isMail && c.To == "":
		return Invalidf("to", "a channel of mail needs an address")
	case !isMail && c.To != "":
		return Invalidf("to", "only a channel of mail has an address")
	case !isMail && c.URL.IsZero():
		return Invalidf("url", "the channel needs a URL")
	case c.Type == ChannelPagerDuty && len(c.Secret.Reveal()) != pagerDutyKeyBytes:
		return Invalidf("secret", "a channel of PagerDuty has the integration key of %d characters as its secret",
			pagerDutyKeyBytes)
	case c.Type.isWithoutSecret() && !c.Secret.IsZero():
		return Invalidf("secret", "the URL of a channel of the type %s has all that is secret", c.Type)
	}
	return nil
}

const pagerDutyKeyBytes = 32

func (t ChannelType) isWithoutSecret() bool {
	return t == ChannelSlack || t == ChannelTeams || t == ChannelDiscord
}

func wordsOf[T ~string](all []T) (words []string) {
	for _, one := range all {
		words = append(words, string(one))
	}
	return words
}

// channelBody is a channel as it is stored. The store seals it.
type channelBody struct {
	Type   ChannelType `json:"type"`
	URL    string      `json:"url,omitempty"`
	To     string      `json:"to,omitempty"`
	Secret string      `json:"secret,omitempty"`
}

// Stored returns the value of the setting that stores the channel. It contains secrets.
func (c Channel) Stored() (string, error) {
	return storedText(channelBody{c.Type, c.URL.Reveal(), c.To, c.Secret.Reveal()})
}

// Shown returns what the audit has of the channel.
func (c Channel) Shown() string { return string(c.Type) + " " + cmp.Or(c.To, c.Host()) }

func storedText(body any) (string, error) {
	text, err := json.Marshal(body)
	return string(text), err
}

// Telling is who is told of what, as administrators said while the server ran.
type Telling struct {
	Channels []Channel // sorted by name
	Routes   []Route   // sorted by name
	Silences []Silence // sorted by the time when they end; those that ended are left out
	// Doubted means that something else than Muster changed the database. Nothing stored counts then.
	Doubted bool
}

// TellingOf reads channels, routes and silences from the stored settings. A value that cannot be read is left out.
func TellingOf(stored StoredSettings, now time.Time) (t Telling) {
	if stored.Doubted {
		return Telling{Doubted: true}
	}
	for setting, is := range stored.ByName {
		switch prefix, name, _ := strings.Cut(string(setting), "/"); prefix + "/" {
		case channelPrefix:
			var body channelBody
			if json.Unmarshal([]byte(is.Value), &body) == nil {
				t.Channels = append(t.Channels, Channel{Name: name, Type: body.Type, URL: NewSecret(body.URL), To: body.To,
					Secret: NewSecret(body.Secret), By: is.By, At: is.At})
			}
		case routePrefix:
			route := Route{}
			if json.Unmarshal([]byte(is.Value), &route) == nil {
				route.Name, route.By, route.At = name, is.By, is.At
				t.Routes = append(t.Routes, route)
			}
		case silencePrefix:
			silence := Silence{}
			if json.Unmarshal([]byte(is.Value), &silence) == nil && silence.Until.After(now) {
				silence.ID, silence.By, silence.At = name, is.By, is.At
				t.Silences = append(t.Silences, silence)
			}
		}
	}
	slices.SortFunc(t.Channels, func(a, b Channel) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(t.Routes, func(a, b Route) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(t.Silences, func(a, b Silence) int {
		return cmp.Or(a.Until.Compare(b.Until), cmp.Compare(a.ID, b.ID))
	})
	return t
}

// Channel returns the channel with a name, or nil.
func (t Telling) Channel(name string) *Channel {
	for i := range t.Channels {
		if t.Channels[i].Name == name {
			return &t.Channels[i]
		}
	}
	return nil
}

// RoomFor checks that there is room for one more setting of this name.
func (t Telling) RoomFor(setting SettingName) error {
	noun, _, _ := strings.Cut(string(setting), "/")
	for _, limit := range []struct {
		noun      string
		has, most int
	}{{"channel", len(t.Channels), maxChannels}, {"route", len(t.Routes), maxRoutes},
		{"silence", len(t.Silences), maxSilences}} {
		if noun == limit.noun && limit.has >= limit.most {
			return Invalidf("name", "there are %d of them already, which is the most that Muster keeps", limit.most)
		}
	}
	return nil
}
