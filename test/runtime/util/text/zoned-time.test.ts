import { zonedTime } from '../../../../runtime/util/text/zoned-time';

const moment = new Date('2026-12-31T23:05:09Z');

it.each([
  ['UTC', { date: '2026-12-31', time: '23:05', weekday: 'Thursday', offset: '+00:00', isKnown: true }],
  ['Europe/Moscow', { date: '2027-01-01', time: '02:05', weekday: 'Friday', offset: '+03:00', isKnown: true }],
  ['America/St_Johns', { date: '2026-12-31', time: '19:35', offset: '-03:30' }],
  ['Asia/Kolkata', { date: '2027-01-01', time: '04:35', offset: '+05:30' }],
  [undefined, { timeZone: 'UTC', isKnown: true }],
  ['Mars/Base', { timeZone: 'UTC', date: '2026-12-31', isKnown: false }],
  ['', { isKnown: false }],
])('in %s', (zone, expected) => expect(zonedTime(zone, moment)).toMatchObject(expected));

it('counts midnight as the hour 00 of the day that begins', () => {
  expect(zonedTime('UTC', new Date('2026-01-01T00:00:00Z'))).toMatchObject({ date: '2026-01-01', time: '00:00' });
});
