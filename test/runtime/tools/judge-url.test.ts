import { readAllowedHosts } from '../../../runtime/tools/web/allowed-hosts';
import { judgeUrl, RefusedUrl } from '../../../runtime/tools/web/judge-url';
import { fc } from '../../support/values/properties';

const policy = (hosts: readonly string[] = [], more: object = {}) => ({
  ...readAllowedHosts(hosts),
  isRestricted: false,
  ...more,
});
const judge = async (url: string, hosts: readonly string[] = [], more: object = {}): Promise<string> =>
  judgeUrl(url, policy(hosts, more)).then(
    ({ href }) => href,
    (error: unknown) => {
      if (error instanceof RefusedUrl) return `refused: ${error.message}`;
      throw error;
    },
  );

it.each([
  ['http://example.com/a?b#c', 'http://example.com/a?b'],
  ['https://EXAMPLE.com.:8443/', 'https://example.com:8443/'],
  ['http://8.8.8.8/', 'http://8.8.8.8/'],
  ['http://[2606:4700:4700::1111]/', 'http://[2606:4700:4700::1111]/'],
])('asks %s as %s', async (url, asked) => expect(await judge(url)).toBe(asked));

it.each([
  'http://127.0.0.1/',
  'http://127.1/',
  'http://0x7f.1/',
  'http://0177.0.0.1/',
  'http://2130706433/',
  'http://0/',
  'http://127.0.0.1./',
  'http://%31%32%37.0.0.1/',
  'http://①②⑦.0.0.1/',
  'http://127。0。0。1/',
  'http:\\\\127.0.0.1\\',
  'http:127.0.0.1',
  'http:///127.0.0.1/',
  'http://[::1]/',
  'http://[::]/',
  'http://[::ffff:7f00:1]/',
  'http://[::ffff:127.0.0.1]/',
  'http://[::127.0.0.1]/',
  'http://[64:ff9b::7f00:1]/',
  'http://[2002:7f00:1::]/',
  'http://[fe80::1]/',
  'http://[fe80::1%25eth0]/',
  'http://[fe80::1%eth0]/',
  'http://[fc00::1]/',
  'http://10.0.0.1/',
  'http://172.16.5.4/',
  'http://192.168.1.1/',
  'http://100.64.1.1/',
  'http://169.254.169.254/latest/meta-data/',
  'http://localhost/',
  'http://LOCALHOST./',
  'http://localhost\u3002/',
  'http://a.localhost/',
  'http://user@example.com/',
  'http://:pass@example.com/',
  'ftp://example.com/',
  'file:///etc/passwd',
  'gopher://example.com/',
  'javascript:alert(1)',
  'data:text/html,x',
  '//example.com/',
  'not a url',
  '',
])('refuses %s', async (url) => expect(await judge(url)).toMatch(/^refused: /));

it('refuses every spelling of every address that is not public', async () => {
  const part = fc.integer({ min: 0, max: 255 });
  const spelled = (value: number, style: number): string =>
    [String(value), `0x${value.toString(16)}`, `0${value.toString(8)}`][style] ?? '';
  const net = fc.constantFrom<readonly number[]>([127], [10], [192, 168], [169, 254], [100, 64], [0]);
  await fc.assert(
    fc.asyncProperty(net, fc.array(part, { minLength: 3, maxLength: 3 }), fc.nat(2), async (head, tail, style) => {
      const bytes = [...head, ...tail].slice(0, 4);
      const number = bytes.reduce((sum, byte) => sum * 256 + byte, 0);
      const hosts = [
        bytes.map((byte) => spelled(byte, style)).join('.'),
        spelled(number, style),
        `[::ffff:${bytes.join('.')}]`,
      ];
      for (const host of hosts) expect(await judge(`http://${host}/`)).toMatch(/^refused: /);
    }),
  );
});

describe('hosts that the operator allows', () => {
  it.each([
    ['http://127.0.0.1:8080/', ['127.0.0.1']],
    ['http://0x7f.1/', ['127.0.0.1']],
    ['http://[::1]/', ['::1']],
    ['http://[0:0::1]/', ['[::1]']],
    ['http://localhost./', ['localhost']],
    ['http://api-internal/', ['API-internal.']],
    ['http://a.b.example.com/', ['*.example.com']],
    ['http://xn--e1aybc.xn--p1ai/', ['тест.рф']],
  ])('may be asked: %s with %j', async (url, hosts) => {
    expect(await judge(url, hosts, { isRestricted: true })).toMatch(/^http:/);
  });

  it.each([
    ['http://example.com/', ['*.example.com']],
    ['http://evilexample.com/', ['*.example.com']],
    ['http://example.com.evil.test/', ['*.example.com', 'example.com']],
    ['http://127.0.0.2/', ['127.0.0.1']],
    ['http://8.8.8.8/', []],
  ])('are the only ones where the row says so: not %s with %j', async (url, hosts) => {
    expect(await judge(url, hosts, { isRestricted: true })).toContain('is not among the allowed hosts');
  });

  it.each([['*'], ['*.'], ['http://a/'], ['a/b'], ['a b'], ['user@a'], ['a:80'], [''], ['a*b'], ['*.a.*']])(
    'cannot be %j',
    (entry) => {
      expect(() => readAllowedHosts([entry])).toThrow('which is no host');
    },
  );
});

describe("the installation's own rules", () => {
  const forbids = {
    egress: { validateUrl: () => Promise.resolve({ ok: false }), createSecureLookup: () => undefined },
  };

  it('are asked for public addresses and for allowed hosts', async () => {
    expect(await judge('http://8.8.8.8/', [], forbids)).toContain('the rules of this installation forbid 8.8.8.8');
    expect(await judge('http://127.0.0.1/', ['127.0.0.1'], forbids)).toContain('forbid');
  });

  it('are not asked where ours refuse', async () => {
    const validateUrl = jest.fn();
    await judge('http://127.0.0.1/', [], { egress: { validateUrl } });
    expect(validateUrl).not.toHaveBeenCalled();
  });
});
