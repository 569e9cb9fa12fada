import fc from 'fast-check';

/** Every run of the tests tries the same values, so that none fails by chance; another number tries others. */
const { PROPERTY_SEED = '1' } = process.env;
fc.configureGlobal({ seed: Number(PROPERTY_SEED) });

export { fc };
