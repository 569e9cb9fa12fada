import { isPublicAddress, publicLookup } from '../../../runtime/util/egress';

it.each(['8.8.8.8', '1.1.1.1', '168.63.129.17', '166.12.0.1', '161.27.0.1', '2606:4700:4700::1111', '::ffff:8.8.8.8'])(
  'takes %s for public',
  (address) => {
    expect(isPublicAddress(address)).toBe(true);
  },
);

it.each([
  '127.0.0.1',
  '10.0.0.1',
  '172.16.0.1',
  '192.168.1.1',
  '169.254.169.254',
  '100.64.0.1',
  '0.0.0.0',
  '224.0.0.1',
  '255.255.255.255',
  '198.18.0.1',
  '::',
  '::1',
  '::7f00:1',
  '4000::1',
  'fe80::1',
  'fc00::1',
  'ff02::1',
  '168.63.129.16',
  '::ffff:168.63.129.16',
  '100.100.100.200',
  '192.0.0.192',
  '161.26.0.10',
  '166.8.0.1',
  '166.11.255.255',
  'fd00:ec2::254',
  'fd20:ce::254',
  'fd00:c1::a9fe:a9fe',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '64:ff9b::7f00:1',
  '2002:7f00:1::',
  '2001:db8::1',
  'not an address',
])('takes %s for anything but public', (address) => {
  expect(isPublicAddress(address)).toBe(false);
});

it('gives a socket no private address of a name', async () => {
  const looked = await new Promise<unknown>((resolve) => publicLookup('localhost', { all: true }, resolve));
  expect(String(looked)).toContain('localhost has no public address');
});

it('reports a name that does not exist as that', async () => {
  const looked = await new Promise<unknown>((resolve) => publicLookup('nowhere.invalid', {}, resolve));
  expect(String(looked)).toMatch(/ENOTFOUND|EAI_AGAIN/);
});
