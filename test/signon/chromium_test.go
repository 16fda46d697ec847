package signon_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"muster/internal/edge/auth"
	"muster/test/page"
)

// A real browser follows its own rules about cookies of other sites, forms and policies. Muster is at localhost, and
// the provider at 127.0.0.1: two sites.
func TestAPersonLogsInWithARealBrowser(t *testing.T) {
	t.Parallel()
	account(t, "real", claims{"preferred_username": "real", "groups": "staff"})
	w := newWorld(t, setting{host: "localhost"})
	ctx, cancel := chromedp.NewExecAllocator(context.Background(),
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("disable-dev-shm-usage", true),
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND,EXCLUDE localhost,EXCLUDE 127.0.0.1"))
	defer cancel()
	tab, cancel := chromedp.NewContext(ctx)
	defer cancel()
	if err := chromedp.Do(tab); err != nil {
		t.Fatalf("chromium does not start: %v", err)
	}
	tab, cancel = context.WithTimeout(tab, 2*time.Minute)
	defer cancel()
	var names []string
	err := page.Do(tab,
		chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			_, err := cdp.Call(ctx, target, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{
				Headers: network.Headers{"X-Account": "real"}})
			return err
		}),
		chromedp.Navigate(w.url+"/ui/login"),
		chromedp.Click(chromedp.CSS(`a[href$="/ui/login/single-sign-on"]`)),
		chromedp.WaitVisible(chromedp.CSS(`form[action$="/ui/logout"]`)),
		chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
			all, err := cdp.Call(ctx, target, network.GetCookies, network.GetCookiesParams{})
			for _, cookie := range all.Cookies {
				names = append(names, cookie.Name)
			}
			return err
		}),
	)
	if err != nil {
		t.Fatalf("%v\n%s", err, w.log)
	}
	if got := strings.Join(names, " "); got != auth.SessionCookie {
		t.Errorf("got the cookies %s", got)
	}
	if at, err := chromedp.Run(tab, chromedp.Location()); err != nil || at != w.url+"/ui/" {
		t.Errorf("got %s, %v", at, err)
	}
	if err := page.Do(tab, chromedp.Click(chromedp.CSS(`form[action$="/ui/logout"] button`)),
		chromedp.Click(chromedp.CSS(`a.button`)), chromedp.WaitReady(chromedp.CSS(`#op\.logoutForm`))); err != nil {
		t.Errorf("the way to the provider's log-out: %v", err)
	}
}
