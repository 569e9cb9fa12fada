import { writeRecords } from '../../../../runtime/cli/migrate-workflow/records';
import { withCode } from '../../../support/setup/matchers';
import { makeMigrationFolder } from '../../../support/workflows/migration-folder';

it('does not write over a report that another run has written meanwhile', () => {
  const folder = makeMigrationFolder();
  const report = folder.at('report.json');
  const content = JSON.stringify({ version: 1, files: [{ status: 'left', path: 'other.json', reports: [] }] });
  folder.write('report.json', content);
  const write = (): void => writeRecords({ sql: folder.at('rows.sql'), report, overwrite: true }, [], []);
  expect(write).toThrow(withCode('OUTPUT_FAILED'));
  expect(folder.files()).toEqual(['report.json']);
  expect(folder.read('report.json')).toBe(content);
  folder.remove();
});
