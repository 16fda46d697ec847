package notify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"

	"muster/internal/fleet"
)

// The fakes below refuse what the services' documentation does not allow: fields that it does not have, texts that are
// too long, values that it does not list. The pages are named in service.go.

type vendor struct {
	kind   fleet.ChannelType
	path   string // of the URL that a person gives
	posted string // path of the requests
	secret string
	bearer bool
	// check returns why the service refuses a body.
	check  func(body []byte) error
	accept func(w http.ResponseWriter)
}

func strict[T any](body []byte) (into T, err error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	return into, decoder.Decode(&into)
}

func characters(text string) int { return len(utf16.Encode([]rune(text))) }

func within(name, text string, least, most int) error {
	if n := characters(text); n < least || n > most {
		return fmt.Errorf("%s has %d characters", name, n)
	}
	return nil
}

const integrationKey = "0123456789abcdef0123456789abcdef"

func status(code int, text string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { w.WriteHeader(code); _, _ = io.WriteString(w, text) }
}

var vendors = []vendor{
	{kind: fleet.ChannelSlack, path: "/services/T0/B0/token", posted: "/services/T0/B0/token", check: checkSlack,
		accept: status(http.StatusOK, "ok")},
	{kind: fleet.ChannelTeams, path: "/workflows/1/triggers/manual/paths/invoke", check: checkTeams,
		posted: "/workflows/1/triggers/manual/paths/invoke", accept: status(http.StatusAccepted, "")},
	{kind: fleet.ChannelDiscord, path: "/api/webhooks/1/token", posted: "/api/webhooks/1/token", check: checkDiscord,
		accept: status(http.StatusNoContent, "")},
	{kind: fleet.ChannelNtfy, path: "/prefix/oncall", posted: "/prefix/", secret: "tk_secret", bearer: true,
		check: checkNtfy, accept: status(http.StatusOK, `{"id":"x","event":"message"}`)},
	{kind: fleet.ChannelPagerDuty, path: "/v2/enqueue", posted: "/v2/enqueue", secret: integrationKey,
		check: checkPagerDuty, accept: status(http.StatusAccepted, `{"status":"success"}`)},
	{kind: fleet.ChannelAlertmanager, path: "/am", posted: "/am/api/v2/alerts", secret: "token-of-am", bearer: true,
		check: checkAlertmanager, accept: status(http.StatusOK, "")},
}

func checkSlack(body []byte) error {
	type text struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		Verbatim bool   `json:"verbatim"`
	}
	m, err := strict[struct {
		Text   string `json:"text"`
		Blocks []struct {
			Type string `json:"type"`
			Text text   `json:"text"`
		} `json:"blocks"`
	}](body)
	if err != nil || m.Text == "" || len(m.Blocks) == 0 || len(m.Blocks) > 50 {
		return fmt.Errorf("invalid_payload: %w", err)
	}
	for _, block := range m.Blocks {
		if err := within("text", block.Text.Text, 1, 3000); err != nil || block.Type != "section" ||
			block.Text.Type != "mrkdwn" {
			return fmt.Errorf("invalid_blocks: %w", err)
		}
		// Only the link to Muster is a link, and nobody is called.
		rest := strings.ReplaceAll(block.Text.Text, "<https://muster.example.org/ui/", "")
		if strings.Contains(rest, "<") {
			return fmt.Errorf("a label is a link or a mention: %q", rest)
		}
	}
	return nil
}

func checkTeams(body []byte) error {
	type action struct{ Type, Title, URL string }
	m, err := strict[struct {
		Type        string `json:"type"`
		Attachments []struct {
			ContentType string  `json:"contentType"`
			ContentURL  *string `json:"contentUrl"`
			Content     struct {
				Schema  string `json:"$schema"`
				Type    string `json:"type"`
				Version string `json:"version"`
				Body    []struct {
					Type, Text, Weight, Size, Color string
					Wrap                            bool
				} `json:"body"`
				Actions []action `json:"actions"`
			} `json:"content"`
		} `json:"attachments"`
	}](body)
	if err != nil || m.Type != "message" || len(m.Attachments) != 1 || len(body) > 28<<10 {
		return fmt.Errorf("no message with a card, or %d bytes: %w", len(body), err)
	}
	card := m.Attachments[0]
	if card.ContentType != "application/vnd.microsoft.card.adaptive" || card.Content.Type != "AdaptiveCard" ||
		card.Content.Version != "1.4" || len(card.Content.Body) == 0 {
		return errors.New("no adaptive card")
	}
	for _, block := range card.Content.Body {
		if block.Type != "TextBlock" || block.Text == "" || !block.Wrap || strings.Contains(block.Text, "[evil](") {
			return fmt.Errorf("the block %+v", block)
		}
	}
	for _, a := range card.Content.Actions {
		if u, err := url.Parse(a.URL); err != nil || a.Type != "Action.OpenUrl" || u.Host == "" {
			return fmt.Errorf("the action %+v", a)
		}
	}
	return nil
}

func checkDiscord(body []byte) error {
	m, err := strict[struct {
		Username string `json:"username"`
		Embeds   []struct {
			Title       string `json:"title"`
			Description string `json:"description"`
			URL         string `json:"url"`
			Color       int    `json:"color"`
			Timestamp   string `json:"timestamp"`
		} `json:"embeds"`
		AllowedMentions struct {
			Parse *[]string `json:"parse"`
		} `json:"allowed_mentions"`
	}](body)
	if err != nil || len(m.Embeds) != 1 || m.AllowedMentions.Parse == nil || len(*m.AllowedMentions.Parse) != 0 {
		return fmt.Errorf("the message calls people or has no embed: %w", err)
	}
	embed := m.Embeds[0]
	_, wrongTime := time.Parse(time.RFC3339, embed.Timestamp)
	if embed.Color < 0 || embed.Color > 0xffffff || strings.Contains(embed.Description, "[evil](") {
		return fmt.Errorf("the embed %+v", embed)
	}
	return errors.Join(within("title", embed.Title, 1, 256), within("description", embed.Description, 0, 4096), wrongTime)
}

func checkNtfy(body []byte) error {
	m, err := strict[struct {
		Topic    string   `json:"topic"`
		Title    string   `json:"title"`
		Message  string   `json:"message"`
		Priority int      `json:"priority"`
		Tags     []string `json:"tags"`
		Click    string   `json:"click"`
	}](body)
	if err != nil || m.Topic != "oncall" || m.Title == "" || len(m.Message) > 4096 || m.Priority < 1 || m.Priority > 5 {
		return fmt.Errorf("the message %+v: %w", m, err)
	}
	return nil
}

func checkPagerDuty(body []byte) error {
	m, err := strict[struct {
		RoutingKey  string `json:"routing_key"`
		EventAction string `json:"event_action"`
		DedupKey    string `json:"dedup_key"`
		Payload     *struct {
			Summary       string         `json:"summary"`
			Source        string         `json:"source"`
			Severity      string         `json:"severity"`
			Timestamp     string         `json:"timestamp"`
			Class         string         `json:"class"`
			Group         string         `json:"group"`
			CustomDetails map[string]any `json:"custom_details"`
		} `json:"payload"`
		Client    string              `json:"client"`
		ClientURL string              `json:"client_url"`
		Links     []map[string]string `json:"links"`
	}](body)
	switch {
	case err != nil || len(body) > 512<<10:
		return fmt.Errorf("invalid event: %w", err)
	case m.RoutingKey != integrationKey:
		return errors.New("Length of 'routing_key' is incorrect (should be 32 characters)")
	case m.DedupKey == "" || len(m.DedupKey) > 255:
		return errors.New("'dedup_key' is missing or too long")
	case m.EventAction == "resolve":
		return nil
	case m.EventAction != "trigger" || m.Payload == nil:
		return errors.New("'payload' is missing")
	case !slices.Contains([]string{"critical", "error", "warning", "info"}, m.Payload.Severity):
		return errors.New("'severity' has a value that is not allowed")
	case m.Payload.Source == "":
		return errors.New("'source' is missing")
	}
	return within("summary", m.Payload.Summary, 1, 1024)
}

func checkAlertmanager(body []byte) error {
	alerts, err := strict[[]struct {
		Labels       map[string]string `json:"labels"`
		Annotations  map[string]string `json:"annotations"`
		StartsAt     time.Time         `json:"startsAt"`
		EndsAt       time.Time         `json:"endsAt"`
		GeneratorURL string            `json:"generatorURL"`
	}](body)
	if err != nil || len(alerts) != 1 {
		return fmt.Errorf("no list of alerts: %w", err)
	}
	if a := alerts[0]; a.Labels["alertname"] == "" || a.Labels["problem"] == "" || a.EndsAt.Before(a.StartsAt) {
		return fmt.Errorf("the alert %+v", a)
	}
	return nil
}

// hostile is text of devices that a service must show as text.
const hostile = `<!channel> @everyone [evil](https://evil.example.org) *bold* "quoted" & <https://evil.example.org|here>`

// messagesOf are the messages that each service must take.
func messagesOf(t *testing.T) map[string]Message {
	t.Helper()
	now := time.Date(2026, 11, 29, 14, 12, 0, 0, time.UTC)
	var many []Problem
	for i := range 200 {
		many = append(many, Problem{Condition: Condition{ProblemKey: Key{Device: deviceID(fmt.Sprint(i)),
			Kind: fleet.WaitUnreachable}, Label: hostile, Tags: []fleet.Tag{"site:berlin"},
			Reason: strings.Repeat("ü", 400) + hostile, Since: now.Add(-10 * time.Minute)}})
	}
	one := many[:1]
	one[0].Folder, one[0].Kind = "docs", fleet.WaitFolderStopped
	const public = "https://muster.example.org"
	site := &group{key: fleet.ToldGroupKey{Channel: "chat", Kind: fleet.WaitUnreachable, Tag: "site:berlin"},
		problems: many[1:]}
	single := &group{key: fleet.ToldGroupKey{Channel: "chat", Kind: fleet.WaitFolderStopped}, problems: one}
	opened := site.notice(public, now)
	opened.ProblemID = opened.ID
	alone := single.notice("", now)
	alone.ProblemID = alone.ID
	over := Message{ID: "R1", ProblemID: opened.ID, Type: fleet.NoticeResolved, Kind: fleet.WaitUnreachable,
		Since: opened.Since, At: now.Add(time.Hour), Group: &fleet.NoticeGroup{Severity: fleet.Warning,
			Tag: "site:berlin", Count: 199, Summary: "Resolved: 199 problems of site:berlin"}}
	return map[string]Message{"many": opened, "one": alone, "over": over, "trial": trial(now)}
}

// serve runs a strict fake of a service. received gets each body that it accepted.
func (v vendor) serve(t *testing.T, received *[][]byte) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		wantHeader := ""
		if v.bearer {
			wantHeader = "Bearer " + v.secret
		}
		switch err := v.check(body); {
		case r.Method != http.MethodPost || r.URL.Path != v.posted || r.Header.Get("Content-Type") != "application/json" ||
			r.Header.Get("Authorization") != wantHeader:
			http.Error(w, "no such hook", http.StatusNotFound)
		case err != nil:
			http.Error(w, err.Error(), http.StatusBadRequest)
		default:
			*received = append(*received, body)
			v.accept(w)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func (v vendor) sender(t *testing.T, server string) Sender {
	t.Helper()
	channel := fleet.Channel{Name: "chat", Type: v.kind, URL: fleet.NewSecret(server + v.path),
		Secret: fleet.NewSecret(v.secret)}
	if err := channel.Validate(); err != nil {
		t.Fatal(err)
	}
	sender, err := Settings{LocalChannels: true}.Sender(channel, nil)
	if err != nil {
		t.Fatal(err)
	}
	return sender
}

func TestEachServiceTakesEachMessage(t *testing.T) {
	for _, v := range vendors {
		t.Run(string(v.kind), func(t *testing.T) {
			var received [][]byte
			sender := v.sender(t, v.serve(t, &received))
			for name, m := range messagesOf(t) {
				received = nil
				if err := sender.Send(t.Context(), m); err != nil {
					t.Errorf("%s: %s", name, answerOf(err))
					continue
				}
				all := string(bytes.Join(received, nil))
				if name == "many" && !strings.Contains(all, "199 devices of site:berlin cannot be reached since 14:02 UTC") {
					t.Errorf("%s does not say what is wrong: %.500s", name, all)
				}
				if name == "many" && v.kind != fleet.ChannelPagerDuty && strings.Contains(all, v.secret) && v.secret != "" {
					t.Errorf("%s shows the secret", name)
				}
				if name == "over" && !strings.Contains(all, "Resolved") && !strings.Contains(all, `"resolve"`) {
					t.Errorf("%s does not say that it is over: %.500s", name, all)
				}
			}
		})
	}
}

// An alert and its end have the same labels, and an incident and its end the same key; otherwise they stay open.
func TestTheEndClosesWhatTheServiceOpened(t *testing.T) {
	all := messagesOf(t)
	for _, v := range vendors {
		var received [][]byte
		sender := v.sender(t, v.serve(t, &received))
		for _, name := range []string{"many", "over"} {
			if err := sender.Send(t.Context(), all[name]); err != nil {
				t.Fatal(answerOf(err))
			}
		}
		identity := func(body []byte) string {
			switch v.kind {
			case fleet.ChannelPagerDuty:
				var m struct {
					DedupKey string `json:"dedup_key"`
				}
				_ = json.Unmarshal(body, &m)
				return m.DedupKey
			case fleet.ChannelAlertmanager:
				var m []struct{ Labels map[string]string }
				_ = json.Unmarshal(body, &m)
				return fmt.Sprint(m[0].Labels)
			}
			return "a chat"
		}
		if first, last := identity(received[0]), identity(received[1]); first != last || first == "" {
			t.Errorf("%s: opened as %s, closed as %s", v.kind, first, last)
		}
	}
}

func TestAnErrorInsideAGoodAnswerIsARefusal(t *testing.T) {
	for kind, answer := range map[fleet.ChannelType]string{
		fleet.ChannelSlack: `{"ok":false,"error":"channel_not_found"}`,
		fleet.ChannelTeams: "Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 413",
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, answer)
		}))
		sender := vendor{kind: kind, path: "/hook"}.sender(t, server.URL)
		err := sender.Send(t.Context(), messagesOf(t)["one"])
		var rejected *RejectedError
		if !errors.As(err, &rejected) || rejected.Reason != "it answers 200 with an error" {
			t.Errorf("%s: got %v", kind, err)
		}
		server.Close()
	}
}

func TestWrongChannelsAreExplained(t *testing.T) {
	hook := fleet.NewSecret("https://example.org")
	for want, channel := range map[string]fleet.Channel{
		"integration key of 32 characters": {Type: fleet.ChannelPagerDuty, URL: hook, Secret: fleet.NewSecret("short")},
		"has all that is secret":           {Type: fleet.ChannelSlack, URL: hook, Secret: fleet.NewSecret("secret")},
		"ends with the topic":              {Type: fleet.ChannelNtfy, URL: hook},
		"needs a URL":                      {Type: fleet.ChannelDiscord},
		"only a channel of mail":           {Type: fleet.ChannelTeams, URL: hook, To: "a@example.org"},
	} {
		channel.Name = "chat"
		err := channel.Validate()
		if err == nil {
			_, err = Settings{}.Sender(channel, nil)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want %q", channel, err, want)
		}
	}
}
