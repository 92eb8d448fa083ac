package masterurl

import (
	"strings"
	"testing"
)

// An IPv6 address without brackets is refused, because the port could be taken for a part of the address.
func TestIPv6AddressesNeedBrackets(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"redis://::1:6379", "redis://::1", "rediss://u:p@fe80::1:6379/1", "redis://:p@2001:db8::7", "redis://::ffff:10.0.0.1:6379", "redis://fe80::1%25eth0:6379", "redis://::1?db=1"} {
		_, err := Parse(text)
		if err == nil || !strings.Contains(err.Error(), "redis://[::1]:6379") || strings.Contains(err.Error(), "fe80") {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, want := range map[string]string{
		"redis://[::1]:6379": "[::1]:6379", "redis://[::1]": "[::1]:6379", "redis://u:p:q@10.0.0.1:6379": "10.0.0.1:6379", "redis://a:1@b:2/3": "b:2",
		"redis://[fe80::1%25eth0]:1": "[fe80::1%eth0]:1", "redis://user:::1:2@abc:6379": "abc:6379", "redis://abc:6379": "abc:6379",
	} {
		o, err := Parse(text)
		if err != nil || o.Addr != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}
