import { readAllowedHosts } from '../../../runtime/tools/web/allowed-hosts';
import { sentHeaders } from '../../../runtime/tools/web/request-web';

describe('the headers of the row', () => {
  const ENTRIES = [
    'api.example.com',
    'http://inside:8080',
    'https://*.shops.example',
    '*.example.org',
    'http://[fd00::1]',
  ];
  const sentTo = (url: string) =>
    sentHeaders(
      { headers: { accept: 'text/csv' }, ownHeaders: { authorization: 'Bearer CANARY' }, url: new URL(url) },
      readAllowedHosts(ENTRIES),
    );

  it.each([
    'https://api.example.com/',
    'https://api.example.com:443/',
    'https://api.example.com./',
    'http://inside:8080/x',
    'https://one.shops.example/',
    'https://a.b.example.org/',
    'http://[fd00::1]/',
  ])('go to %s', (url) => expect(sentTo(url)).toMatchObject({ accept: 'text/csv', authorization: 'Bearer CANARY' }));

  it.each([
    'https://example.com/',
    'http://api.example.com/',
    'https://api.example.com:8443/',
    'http://api.example.com:443/',
    'http://inside/',
    'https://inside:8080/',
    'http://inside:8081/',
    'http://one.shops.example/',
    'https://shops.example/',
    'https://example.org/',
    'http://a.example.org/',
    'http://[fd00::1]:81/',
    'https://api.example.com.evil.test/',
  ])('do not go to %s', (url) => expect(sentTo(url)).not.toHaveProperty('authorization'));
});
