"""Writes csd.txt: what DIPY's constrained spherical deconvolution gives for voxels of its small_64D.

generate.py            needs dipy (1.12.1) and nibabel
Lines: "response" along, across (mm2/s), S0; "weighted" b and vector; "constraint" direction; "voxel" x, y, z and signals of
the weighted volumes, followed by "order" L and coefficients.
"""

import pathlib
import warnings

import nibabel as nib
import numpy as np
from dipy.core.gradients import gradient_table
from dipy.core.sphere import HemiSphere
from dipy.data import get_fnames, get_sphere
from dipy.io import read_bvals_bvecs
from dipy.reconst.csdeconv import ConstrainedSphericalDeconvModel, auto_response_ssst

VOXELS = [(5, 5, 5), (2, 7, 4), (8, 3, 6), (4, 4, 1), (6, 8, 8), (1, 1, 9)]

warnings.simplefilter("ignore")
image, bval, bvec = get_fnames(name="small_64D")
signal = np.asarray(nib.load(image).dataobj).astype(float)
bvals, bvecs = read_bvals_bvecs(str(bval), str(bvec))
gradients = gradient_table(bvals=bvals, bvecs=bvecs)
response, _ = auto_response_ssst(gradients, signal, roi_radii=10, fa_thr=0.5)
weighted = ~gradients.b0s_mask


def line(word: str, *numbers: float) -> str:
    return word + "".join(f" {float(number)!r}" for number in numbers) + "\n"


out = line("response", response[0][0], response[0][1], response[1])
for b, vector in zip(gradients.bvals[weighted], gradients.bvecs[weighted], strict=True):
    out += line("weighted", b, *vector)
for direction in HemiSphere.from_sphere(get_sphere(name="symmetric362")).vertices:
    out += line("constraint", *direction)
models = {n: ConstrainedSphericalDeconvModel(gradients, response, sh_order_max=n) for n in (4, 6, 8)}
for voxel in VOXELS:
    out += line("voxel", *voxel, *signal[voxel][weighted])
    for order, model in models.items():
        out += line("order", order, *model.fit(signal[voxel]).shm_coeff)
pathlib.Path(__file__).with_name("csd.txt").write_text(out)
