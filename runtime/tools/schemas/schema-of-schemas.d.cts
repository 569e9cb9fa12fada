import type { ErrorObject } from 'ajv/dist/2020.js';

/** True for a JSON Schema of 2020-12. What is wrong with the value it was last called with stands in `errors`. */
declare const isSchema: {
  (value: unknown): boolean;
  errors?: readonly ErrorObject[] | null;
};
export = isSchema;
