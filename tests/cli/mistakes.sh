# Things that a mistake can be about: stores, a zip of one, files of other kinds, and folders that are no stores.
cp -r $STORES/v3.zarr v.zarr
cp -r $STORES/v3.zarr/u16 u.zarr
penstock copy v.zarr v.zip --quiet
mkdir many && cp v.zarr/zarr.json many
for i in $(seq 10 40); do cp -r v.zarr/big many/a$i; done
printf 'II*\0' > a.tif
printf '\x89HDF\r\n\x1a\n' > a.h5
mkdir folder old && echo x > old/x
