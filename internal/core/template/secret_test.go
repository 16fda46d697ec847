package template

import (
	"strings"
	"testing"

	"muster/internal/core/stconfig"
	"muster/internal/fleet"
)

// What stconfig calls a secret is what programs cannot read, and the handle names the way back.
func TestConcealAgreesWithStconfig(t *testing.T) {
	config := parse(t, strings.ReplaceAll(`{"gui":{"apiKey":"hidden","password":"","user":"x","APIKEY":"hidden-twice"},
		"folders":[{"id":"a.b *","devices":[{"deviceID":"AAAA","encryptionPassword":"hidden"}]}],
		"defaults":{"folder":{"devices":[{"deviceID":"AAAA","encryptionPassword":"hidden"}]}},
		"options":{"tokenFromTheFuture":"hidden","PASSPHRASE":"hidden","secretsKept":7,"urUniqueId":"no secret"}}`, "AAAA", string(fleet.DeviceIDOf([32]byte{}))))
	concealed := Conceal(config)
	if text := string(concealed.JSON()); strings.Contains(text, "hidden") {
		t.Errorf("a secret is left in %s", text)
	}
	for _, options := range []string{"secretsKept", "urUniqueId"} {
		if got := concealed.Get("options").Get(options); got.Kind() == stconfig.Handle {
			t.Errorf("options.%s became %s", options, got.JSON())
		}
	}
	if got := concealed.Get("gui").Get("password"); got.Kind() != stconfig.String || got.Str() != "" {
		t.Errorf("an empty password became %s", got.JSON())
	}
	if again := Conceal(concealed); string(again.JSON()) != string(concealed.JSON()) {
		t.Errorf("concealed twice: %s", again.JSON())
	}
	forEachHandle(concealed, func(name string) {
		key, err := stconfig.ParseKey(strings.TrimPrefix(name, configHandle))
		if err != nil || !stconfig.SecretKey(key) {
			t.Errorf("%s is no key of a secret: %v", name, err)
		}
	})
	back, err := stconfig.ResolveConfig(concealed.Get("folders"), config)
	if err != nil || !back.Equal(config.Get("folders")) {
		t.Errorf("resolved: %s, %v", back.JSON(), err)
	}
}

func TestConcealSharesWhatHoldsNoSecret(t *testing.T) {
	config := parse(t, `{"options":{"a":[1,2,{"b":3}]},"folders":[{"id":"x","path":"/x"}]}`)
	if Conceal(config) != config {
		t.Error("a configuration without secrets was copied")
	}
}

func forEachHandle(v stconfig.Value, do func(name string)) {
	if v.Kind() == stconfig.Handle {
		do(v.Str())
	}
	for i := range v.Len() {
		forEachHandle(v.At(i), do)
	}
}
