package form

import (
	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

var setting = Kind{Name: "setting", Title: "One setting",
	Help: "Any setting of Syncthing, the same on all devices with a tag.",
	Fields: []Field{tagsField,
		{Name: "key", Label: "Setting", Type: KeyField, Required: true, Example: "options.maxFolderConcurrency",
			Help: "In folders.* and devices.* the * means every one; the ID of one may be written instead."},
		{Name: "value", Label: "Value", Type: ValueField, Required: true,
			Help: "A blank text, or a list without members, is for a template that is written as text."},
	},
	write: func(v Values) (Written, error) {
		s, key, err := stconfig.SettingAt(v.one("key"))
		if err != nil {
			return Written{}, at("key", err)
		}
		value, err := s.Value(v["value"])
		if err != nil {
			return Written{}, err
		}
		text := string(value.JSON())
		if s.Type == stconfig.TextsSetting {
			text = list(v["value"])
		}
		return Written{Op: fleet.OpSet, Key: key.String(), Text: text + "\n"}, nil
	},
}

var names = Kind{Name: "names", Title: "Names of devices",
	Help:   "Every daemon calls the devices that it knows as Muster does, also after a device gets another label.",
	Fields: []Field{tagsField},
	write: func(Values) (Written, error) {
		return Written{Op: fleet.OpMerge, Key: "devices", Text: `def template(config):
    known = [d.deviceID for d in config.devices]
    return [{"deviceID": d.deviceID, "name": d.label} for d in devices() if d.deviceID in known]
`}, nil
	},
}

var introducer = Kind{Name: "introducer", Title: "Introducer",
	Help: "Devices let other ones introduce further devices to them. An admin consents before it goes out.",
	Fields: []Field{tagsField,
		{Name: "hubs", Label: "Introducers have one of the tags", Type: TagsField, Required: true, Example: "hub"},
	},
	write: func(v Values) (Written, error) {
		return Written{Op: fleet.OpMerge, Key: "devices", Text: "HUBS = " + asJSON(v.tags("hubs")) + `

def template(device):
    hubs = {d.deviceID: True for tag in HUBS for d in devices(tag = tag) if d != device}
    return [{"deviceID": id, "introducer": True} for id in sorted(hubs)]
`}, nil
	},
}
