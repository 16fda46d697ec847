package notify

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/wneessen/go-mail"

	"muster/internal/adapter/outbound"
	"muster/internal/fleet"
)

// MailTLS says how the connection to the mail server is encrypted.
type MailTLS string

const (
	// TLS from the first byte on port 465, STARTTLS on any other port; never unencrypted
	MailTLSAuto     MailTLS = "auto"
	MailTLSStart    MailTLS = "starttls" // STARTTLS; when the server does not offer it, nothing is sent
	MailTLSImplicit MailTLS = "tls"      // TLS from the first byte
	MailTLSNone     MailTLS = "none"     // unencrypted; Muster uses only log-in methods that do not reveal the password
)

const (
	mailLimit      = 25 * time.Second
	submissionPort = 587
	smtpsPort      = 465
	maxSubject     = 150 // characters
)

// MailOptions say to which address mail goes and which server sends it.
type MailOptions struct {
	To, From string // addresses, with or without a display name
	Server   string // HOST or HOST:PORT
	User     string // "": Muster does not log in
	Password fleet.Secret
	TLS      MailTLS // "": MailTLSAuto
	// certificate authorities that may sign the server's certificate; nil: those of the system
	Roots  *x509.CertPool
	Refuse outbound.RefuseIP // addresses to which nothing is sent; nil: none
}

// Mail sends messages to one address by SMTP.
type Mail struct {
	to, from *netmail.Address
	domain   string // the part of message IDs after the @
	host     string
	options  []mail.Option
	implicit *tls.Config // nil: the connection starts unencrypted
	dialer   *net.Dialer
}

// NewMail makes a sender for an address. It opens no connection.
func NewMail(o MailOptions) (*Mail, error) {
	m := &Mail{dialer: o.Refuse.Dialer()}
	var err error
	if m.to, err = netmail.ParseAddress(o.To); err != nil {
		return nil, wrongMail(fmt.Sprintf("%q is no mail address", o.To), "For example admin@example.org.")
	}
	if m.from, err = netmail.ParseAddress(o.From); err != nil {
		return nil, wrongMail(fmt.Sprintf("%q is no mail address", o.From),
			"Say whom the mail comes from: --notify-mail-from, or the setting notifyMailFrom.")
	}
	_, m.domain, _ = strings.Cut(m.from.Address, "@")
	var port int
	if m.host, port, err = mailServer(o.Server); err != nil {
		return nil, err
	}
	m.options = []mail.Option{mail.WithPort(port), mail.WithTimeout(mailLimit), mail.WithoutNoop()}
	if err := m.protect(o, port); err != nil {
		return nil, err
	}
	if o.User != "" {
		m.options = append(m.options, mail.WithUsername(o.User), mail.WithPassword(o.Password.Reveal()))
	}
	if _, err = mail.NewClient(m.host, m.options...); err != nil {
		return nil, wrongMail("the mail server cannot be used: "+err.Error(), "Look at --smtp, or at the setting smtpServer.")
	}
	return m, nil
}

func mailServer(text string) (host string, port int, err error) {
	if text == "" {
		return "", 0, wrongMail("mail needs a server that takes it", "Name it: --smtp HOST:PORT, or the setting smtpServer.")
	}
	host, service, portErr := net.SplitHostPort(text)
	if portErr != nil {
		host, service = strings.Trim(text, "[]"), strconv.Itoa(submissionPort)
	}
	port, err = strconv.Atoi(service)
	if err != nil || host == "" || port < 1 || port > 65535 || fleet.ValidateAddress(host) != nil {
		return "", 0, wrongMail(fmt.Sprintf("%q is no HOST:PORT of a mail server", text),
			"For example mail.example.org:587.")
	}
	return host, port, nil
}

// protect decides how the connection is encrypted and which log-in methods are allowed on it.
func (m *Mail) protect(o MailOptions, port int) error {
	config := &tls.Config{ServerName: m.host, RootCAs: o.Roots, MinVersion: tls.VersionTLS12}
	login := mail.WithOpportunisticSMTPAuth(mail.SMTPAuthSCRAMSHA256, mail.SMTPAuthPlain, mail.SMTPAuthLogin,
		mail.SMTPAuthCramMD5)
	policy := o.TLS
	if policy == "" || policy == MailTLSAuto {
		policy = MailTLSStart
		if port == smtpsPort {
			policy = MailTLSImplicit
		}
	}
	switch policy {
	case MailTLSStart:
		m.options = append(m.options, mail.WithTLSPolicy(mail.TLSMandatory), mail.WithTLSConfig(config))
	case MailTLSImplicit:
		m.options = append(m.options, mail.WithSSL())
		m.implicit = config
	case MailTLSNone:
		m.options = append(m.options, mail.WithTLSPolicy(mail.NoTLS))
		// Discovery picks only methods that do not reveal the password.
		login = mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover)
	default:
		return wrongMail(fmt.Sprintf("%q is no way to protect mail", o.TLS), "Use auto, starttls, tls or none.")
	}
	if o.User != "" {
		m.options = append(m.options, login)
	}
	return nil
}

func wrongMail(why, hint string) error {
	return &fleet.Error{Code: fleet.CodeInvalid, During: "read the receivers of notifications", Message: why, Hint: hint}
}

// Name returns "mail:" and the address.
func (m *Mail) Name() string { return "mail:" + m.to.Address }

// Send gives the message to the mail server.
func (m *Mail) Send(ctx context.Context, message Message) error {
	letter := mail.NewMsg()
	letter.FromMailAddress(m.from)
	letter.ToMailAddress(m.to)
	letter.SetGenHeader(mail.HeaderSubject, subject(message))
	letter.SetMessageIDWithValue(m.id(message.ID)) // A message that is sent twice has the same ID both times.
	if message.ProblemID != message.ID {
		letter.SetGenHeader(mail.HeaderInReplyTo, "<"+m.id(message.ProblemID)+">")
		letter.SetGenHeader(mail.HeaderReferences, "<"+m.id(message.ProblemID)+">")
	}
	letter.SetGenHeader("Auto-Submitted", "auto-generated")
	letter.SetUserAgent("muster")
	letter.SetDateWithValue(message.At)
	letter.SetBodyString(mail.TypeTextPlain, letterBody(message))
	err := m.carry(ctx, letter)
	// An error after delivery, while the connection is closed, does not matter.
	if err == nil || letter.IsDelivered() {
		return nil
	}
	return judgeMail(err)
}

// carry gives the letter to the server over a new connection. It closes the connection in every case, because the
// library leaves one open when the log-in fails.
func (m *Mail) carry(ctx context.Context, letter *mail.Msg) error {
	finish := func() {}
	defer func() { finish() }()
	dial := func(dialing context.Context, network, address string) (net.Conn, error) {
		conn, err := m.dial(dialing, network, address)
		if err == nil {
			stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
			finish = func() { stop(); _ = conn.Close() }
		}
		return conn, err
	}
	client, err := mail.NewClient(m.host, append(slices.Clone(m.options), mail.WithDialContextFunc(dial))...)
	if err != nil {
		return err
	}
	return client.DialAndSendWithContext(ctx, letter)
}

func (m *Mail) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if m.implicit == nil {
		return m.dialer.DialContext(ctx, network, address)
	}
	return (&tls.Dialer{NetDialer: m.dialer, Config: m.implicit}).DialContext(ctx, network, address)
}

func (m *Mail) id(of string) string { return of + "@" + m.domain }

// judgeMail returns a *RejectedError when the server accepted sender and receiver and then refused the text for good.
// Any other error means that the server does not work.
func judgeMail(err error) error {
	var failed *mail.SendError
	if errors.As(err, &failed) && failed.Reason == mail.ErrSMTPDataClose && failed.ErrorCode() >= 500 {
		return &RejectedError{Reason: fmt.Sprintf("it answers %d", failed.ErrorCode())}
	}
	return errors.New(oneLine(err.Error()))
}

// words are the kinds of problems as they follow the name of a device or folder in a sentence.
var words = map[Kind]string{
	fleet.WaitUnreachable:      "cannot be reached",
	fleet.WaitStale:            "was not seen for so long that it counts as stale",
	fleet.WaitFolderStopped:    "is stopped",
	fleet.WaitFailedItems:      "has items that could not be synced",
	fleet.WaitStalled:          "does not go on",
	fleet.WaitAlone:            "is alone: no device that shares it is connected",
	fleet.WaitOutOfSync:        "differs from the other devices",
	fleet.WaitLocalChanges:     "was changed although it only receives",
	fleet.WaitDisagree:         "has other files than on other devices",
	fleet.WaitConflicts:        "has files in conflict",
	fleet.WaitDiskNearlyFull:   "is on a disk that is nearly full",
	fleet.WaitAtRisk:           "has data that is not proven to be on enough other devices",
	fleet.WaitDriveMissing:     "is not there: its drive is missing",
	fleet.WaitPinMismatch:      "shows another certificate than the pinned one",
	fleet.WaitIdentityMismatch: "answers as another device",
	fleet.WaitKeyRefused:       "refuses its API key",
	fleet.WaitUnconfirmed:      "shows a certificate that nobody confirmed",
	fleet.WaitCloned:           "has its identity on two machines",
	fleet.WaitFailed:           "could not be configured",
	fleet.WaitHeld:             "waits for consent",
	fleet.WaitContended:        "is set back again and again by somebody else",
	fleet.WaitBroughtBack:      "had a revoked device brought back",
	fleet.WaitUnstable:         "gets another configuration each time",
	fleet.WaitEnrollment:       "asks to be accepted",
	fleet.WaitRolloutHalted:    "is halted",
	fleet.WaitRolloutApproval:  "waits for approval",
	fleet.WaitImpairment:       "does not work as it should",
}

func subject(m Message) string {
	text := "[Muster] " + headline(m)
	if short := []rune(text); len(short) > maxSubject {
		return string(short[:maxSubject-1]) + "…"
	}
	return text
}

// headline says in one line what a message is about.
func headline(m Message) string {
	switch {
	case m.Type == fleet.NoticeTrial:
		return "Trial: this address is told of problems"
	case m.Group != nil:
		return oneLine(m.Group.Summary)
	case m.Type == fleet.NoticeResolved:
		return oneLine("Resolved: " + sentence(m))
	}
	return oneLine(sentence(m))
}

// sentence says what is wrong with one device, folder or other thing.
func sentence(m Message) string {
	what, problem := name(m), words[m.Kind]
	switch {
	case m.Folder != "":
		what = fmt.Sprintf("folder %s on %s", m.Folder, what)
	case m.Kind == fleet.WaitDiskNearlyFull:
		problem = "has a disk that is nearly full"
	}
	return what + " " + problem
}

func name(m Message) string {
	if m.DeviceID == "" {
		return m.Subject
	}
	if strings.TrimSpace(m.Label) == "" {
		return m.DeviceID.Short()
	}
	return m.Label
}

func letterBody(m Message) string {
	var b strings.Builder
	line := func(title, text string) {
		if text != "" {
			fmt.Fprintf(&b, "%-9s %s\n", title+":", oneLine(text))
		}
	}
	if m.DeviceID != "" {
		line("Device", m.DeviceID.Name(m.Label))
	}
	line("Of", m.Subject)
	line("Folder", m.Folder)
	if m.Group != nil && m.Group.Count != 1 {
		line("Problem", m.Group.Summary)
	} else {
		line("Problem", words[m.Kind])
	}
	line("Reason", m.Reason)
	line("Next", m.Next)
	line("Since", m.Since.UTC().Format(time.RFC1123))
	if m.Type == fleet.NoticeResolved {
		line("Resolved", m.At.UTC().Format(time.RFC1123))
	}
	line("Page", m.Link)
	line("Message", m.ID)
	if m.Group != nil && m.Group.Count > 1 && m.Type == fleet.NoticeProblem {
		b.WriteString("\n")
		for _, text := range problemLines(m.Group, len(m.Group.Problems)) {
			b.WriteString(text + "\n")
		}
	}
	return b.String()
}

// oneLine replaces line breaks in labels and folder names, which may contain any text.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text)
}
