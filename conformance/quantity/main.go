// Command quantity prints what Kubernetes' own code makes of several thousand quantities, for a test to compare with.
//
//	go run . single > single.tsv
//	go run . pairs > pairs.tsv
//
// main.rs, beside this file, says what the columns are.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

var mantissas = []string{
	"0", "1", "7", "8", "9", "10", "12", "16", "100", "123", "999", "1000", "1023", "1024", "1025", "1500", "1536",
	"2048", "1000000", "1048576", "123456789", "999999999999999", "123456789012345678", "999999999999999999",
	"1000000000000000000", "9223372036854775807", "9223372036854775808", "18446744073709551616",
	"0.5", "1.5", "0.001", "0.0001", "1.0", "1.", "00.10", ".5", "1.000", "1.500", "0.000000001", "0.0000000001",
	"1.0000000001", "1.023", "01", "007", "12.345678", "0.000999", "1023.5", "000000000000000000000000000001",
}

var suffixes = []string{
	"", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei",
	"e0", "e1", "e2", "e3", "E3", "e-1", "e-3", "e-9", "e-10", "e9", "e18", "e21", "e+3", "e03",
}

var oddities = []string{
	"", "+", "-", ".", "+.", "-.", "Ki", "Mi", "Gi", "m", "e3", "-Ki", ".Ki", "e-10", ".e-10", "0e-10", "0e-400", "00", "-0",
	"0.0", "0Ki", "0m", "-0Gi", "+0", "0E", "0e5", "0.Ki", "-.5", "+.5", "1..2", "1.2.3", "1.2.", "--1", "+-1", "1-", "1+", "1m5",
	"1Ki5", "1Ei5", "1e", "1e+", "1e-", "1E+", "1e1.5", "1e.5", "1ee5", "1eE", "1e5e5", "1kk", "1mi", "1KI", "1ki", "1K", "1g",
	"1GB", "1GiB", "1B", "1i", "1iK", "1 Gi", " 1", "1 ", "1\t", "1,5", "1_000", "0x10", "0b1", "Three", "NaN", "Inf", "∞", "1µ",
	"１", "1e99999999999999999999", "1e-99999999999999999999", "1e000000000000000000000000000003", "1e-000000000000000000000000000003",
	"12e99", "1e99", "1e100", "1e101", "1e300", "1e308", "1e309", "1e999", "1e1000", "-1e1000", "12345e996",
	"1e-18", "1e-19", "1e-300", "1e-1000", "-1e-1000", "0.1n", "1.1n", "-1.1n", "0.1e-9",
	"9999999999999999999999999999999999999G", "100000000000000000000000000000000000000000", "1000000000000000000000000000000e-30",
	"7Ei", "8Ei", "9Ei", "16Ei", "-8Ei", "-9Ei", "1024Ei", "8191Pi", "8192Pi", "8193Pi", "99Ti", "100Ti", "1024Ti",
	"0.5Ki", "0.5Mi", "0.1Ki", "0.001Ki", "0.0001Ki", "0.00001Gi", "1.1Gi", "1.9Gi", "0.9Ki", "1.5Ei", "7.9Ei", "8.1Ei", "-1.1Ki", "-0.1Ki",
	"1000E", "10E", "1500E", "999999999999999999E", "12300e18", "1000m", "1100m", "1001m", "999m", "10000000m", "1000000000n", "1500n",
	"9223372036854775807m", "9223372036854775807n", "9223372036854775808n", "-9223372036854775808", "-9223372036854775809",
	"922337203685477580", "922337203685477581e1", "92233720368547758070", "9223372036854775807k", "0.9223372036854775807",
	"+4Ki", "+8Ki", "012Mi", "016Mi", "020Mi", "+1Ti", "+16Ti", "0.0009765625Ki", "-0.0009765625Ki", "0.00097656249Ki",
	"4.2k", "0.3k", "12.5E", "0.0000000012", "0.00000000123", "1e+21", "1e-7", "1.5e3", "2e6", "100e-2", "1500e-3", "0.33333333333333331",
	"00000000000000000000000000000000000000.00000000000000000000000000000000000001", "1.00000000000000000000000000000000000000",
	"123456789.123456789", "123456789.1234567891", "999999999.999999999", "999999999.9999999999", "1e-9", "-1e-9", "1e-8", "10e-9",
}

var operands = []string{
	"0", "0Ki", "0m", "0e3", "1", "-1", "100m", "1500m", "1n", "-1n", "1k", "1Ki", "512", "1023Ki", "1.5Gi", "1Gi", "-1Gi", "0.5Ki", "2e3", "12e-3",
	"4Ei", "-4Ei", "8Ei", "5E", "10E", "9223372036854775807", "-9223372036854775807", "922337203685477580e1", "-922337203685477580e1",
	"-8", "1e30", "1e-9", "1180591620717411303424", "0e-10", "01", "+1", "1.0000000001",
}

var factors = []int64{0, 1, -1, 2, 3, 10, 1000, 1024, 1 << 40, 1<<63 - 1, -1 << 63}

func main() {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	switch strings.Join(os.Args[1:], " ") {
	case "single":
		single(out)
	case "pairs":
		pairs(out)
	default:
		fmt.Fprintln(os.Stderr, "usage: quantity single|pairs")
		os.Exit(2)
	}
}

func single(out *bufio.Writer) {
	inputs := append([]string{}, oddities...)
	for i, mantissa := range mantissas {
		for j, suffix := range suffixes {
			inputs = append(inputs, mantissa+suffix)
			if (i+j)%3 == 0 {
				inputs = append(inputs, "-"+mantissa+suffix)
			}
			if (i+j)%7 == 0 {
				inputs = append(inputs, "+"+mantissa+suffix)
			}
		}
	}
	for _, input := range inputs {
		q, err := resource.ParseQuantity(input)
		if err != nil {
			fmt.Fprintf(out, "%s\n", strconv.Quote(input))
			continue
		}
		printed := q.String()
		digits, suffix := q.CanonicalizeBytes(nil)
		canonical := string(digits) + string(suffix)
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%d\t%d\t%s\t%s\n", strconv.Quote(input), same(printed, input),
			same(canonical, printed), form(q), q.Value(), q.MilliValue(), integer(q), float(q))
	}
}

func pairs(out *bufio.Writer) {
	for _, a := range operands {
		for _, b := range operands {
			left, right := resource.MustParse(a), resource.MustParse(b)
			sum, difference := left.DeepCopy(), left.DeepCopy()
			sum.Add(right)
			difference.Sub(right)
			left, right = resource.MustParse(a), resource.MustParse(b)
			fmt.Fprintf(out, "%s\t%s\t%d\t%s\t%s\t%s\t%s\n", a, b, left.Cmp(right),
				sum.String(), integer(sum), difference.String(), integer(difference))
		}
		for _, factor := range factors {
			product := resource.MustParse(a)
			product.Mul(factor)
			fmt.Fprintf(out, "%s\t*%d\t%s\t%s\n", a, factor, product.String(), integer(product))
		}
	}
}

func same(text, other string) string {
	if text == other {
		return "="
	}
	return text
}

// form is B, D or E: what the quantity is written in when it is computed with.
func form(q resource.Quantity) string {
	switch q.Format {
	case resource.BinarySI:
		return "B"
	case resource.DecimalSI:
		return "D"
	default:
		return "E"
	}
}

func integer(q resource.Quantity) string {
	if value, ok := q.AsInt64(); ok {
		return strconv.FormatInt(value, 10)
	}
	return "-"
}

func float(q resource.Quantity) string {
	return strconv.FormatFloat(q.AsApproximateFloat64(), 'g', -1, 64)
}
