package form

import (
	"strconv"

	"muster/internal/fleet"
)

// onOff are the choices of a switch that stays as each device has it where nothing is chosen.
var onOff = []Choice{{"on", "On"}, {"off", "Off"}}

var limits = Kind{Name: "limits", Title: "Limit bandwidth",
	Help: "How fast devices send and receive, for example at a site with a slow line.",
	Fields: []Field{tagsField,
		{Name: "send", Label: "Send at most", Type: RateField, Example: "2 MB/s",
			Help: "A number with its unit: MB/s, Mbit/s, KiB/s; or: no limit. Blank leaves it as each device has it."},
		{Name: "receive", Label: "Receive at most", Type: RateField, Example: "16 Mbit/s",
			Help: "A number with its unit: MB/s, Mbit/s, KiB/s; or: no limit. Blank leaves it as each device has it."},
		{Name: "lan", Label: "In the local network", Type: ChoiceField,
			Choices: []Choice{{"off", "Without these limits"}, {"on", "With these limits, too"}},
			Help:    "Whether the limits also hold between devices of one local network."},
	},
	write: func(v Values) (Written, error) {
		members, err := rateMembers(v)
		if err != nil {
			return Written{}, err
		}
		if lan := v.one("lan"); lan != "" {
			members = append(members, member{"limitBandwidthInLan", flag(lan)})
		}
		if len(members) == 0 {
			return Written{}, fleet.Invalidf("send", "what is limited? Give a rate for sending or receiving")
		}
		return Written{Op: fleet.OpMerge, Key: "options", Text: object(members...) + "\n"}, nil
	},
}

// rateMembers are the limits in KiB/s.
func rateMembers(v Values) (members []member, err error) {
	for _, one := range []struct{ field, name string }{{"send", "maxSendKbps"}, {"receive", "maxRecvKbps"}} {
		if v.one(one.field) == "" {
			continue
		}
		rate, err := kibPerSecond(one.field, v.one(one.field))
		if err != nil {
			return nil, err
		}
		members = append(members, member{one.name, strconv.FormatInt(rate, 10)})
	}
	return members, nil
}

// networkFields are the switches of the form, with the names of their options.
var networkFields = []struct{ field, option string }{{"global", "globalAnnounceEnabled"},
	{"local", "localAnnounceEnabled"}, {"relays", "relaysEnabled"}, {"nat", "natEnabled"}}

var network = Kind{Name: "network", Title: "Discovery and NAT",
	Help: "How devices find and reach each other. What is not chosen stays as each device has it.",
	Fields: []Field{tagsField,
		{Name: "global", Label: "Discovery on the internet", Type: ChoiceField, Choices: onOff,
			Help: "Devices announce their addresses to discovery servers, and ask them for those of others."},
		{Name: "local", Label: "Discovery in the local network", Type: ChoiceField, Choices: onOff,
			Help: "Devices announce themselves in their own network."},
		{Name: "relays", Label: "Relays", Type: ChoiceField, Choices: onOff,
			Help: "Devices that reach each other in no other way connect through a relay, which cannot read the data."},
		{Name: "nat", Label: "Ports at routers", Type: ChoiceField, Choices: onOff,
			Help: "Devices ask their router, by UPnP and NAT-PMP, to forward a port to them."},
	},
	write: func(v Values) (Written, error) {
		var members []member
		for _, one := range networkFields {
			if choice := v.one(one.field); choice != "" {
				members = append(members, member{one.option, flag(choice)})
			}
		}
		if len(members) == 0 {
			return Written{}, fleet.Invalidf("global", "what is switched? Choose on or off for at least one of them")
		}
		return Written{Op: fleet.OpMerge, Key: "options", Text: object(members...) + "\n"}, nil
	},
}

var login = Kind{Name: "login", Title: "GUI log-in",
	Help: "User and password of each daemon's own web page. An admin consents before it goes out.",
	Fields: []Field{tagsField,
		{Name: "user", Label: "User", Type: TextField, Required: true, Example: "admin"},
		{Name: "secret", Label: "Secret with the password", Type: SecretField, Required: true, Example: "gui-password",
			Help: "Store one with `muster secret put NAME --key gui.password`. The password itself is in no template."},
	},
	write: func(v Values) (Written, error) {
		return Written{Op: fleet.OpMerge, Key: "gui", Text: object(member{"user", asJSON(v.one("user"))},
			member{"password", asJSON("${secret:" + v.one("secret") + "}")}) + "\n"}, nil
	},
}
